"""``shardlane-lab kinesis``: the local Kinesis alone, in the foreground."""

from __future__ import annotations

import argparse
import asyncio

from shardlane_lab.errors import LabError


def port_number(text: str) -> int:
    """An argparse type: a TCP port, or 0 for any free one."""
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 (any free one) to 65535")
    return int(text)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "kinesis",
        help="run the local Kinesis alone until it is stopped",
        description="Serves the local Kinesis on 127.0.0.1 with the service's limits, until "
        "Ctrl-C or SIGTERM. Nothing is kept.",
    )
    parser.add_argument(
        "--port", type=port_number, default=4567, help="0 takes any free one (default: 4567)"
    )
    parser.add_argument(
        "--delays",
        choices=("none", "measured"),
        default="none",
        help="answer at once, or as late as the service did in the published measurement",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the delays (default: 0)")
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    from shardlane_lab.local_kinesis.delays import Delays
    from shardlane_lab.local_kinesis.serve import serve

    delays = Delays.measured() if given.delays == "measured" else Delays.none()
    try:
        asyncio.run(serve(given.port, delays=delays, seed=given.seed, ready=_say))
    except OSError as error:
        raise LabError(error.strerror or str(error)) from error
    return 0


def _say(port: int) -> None:
    print(
        f"Local Kinesis on http://127.0.0.1:{port} (Ctrl-C stops it). For the AWS CLI and SDKs:\n"
        f"  export AWS_ENDPOINT_URL_KINESIS=http://127.0.0.1:{port} AWS_REGION=us-east-1 "
        "AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local",
        flush=True,
    )
