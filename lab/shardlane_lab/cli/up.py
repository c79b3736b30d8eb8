"""``shardlane-lab up``: the whole local stack of the CDK app, until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shardlane_lab.cli.kinesis import port_number
from shardlane_lab.cli.options import add_app, template
from shardlane_lab.errors import LabError
from shardlane_lab.task_end import end_task

if TYPE_CHECKING:
    from shardlane_lab.local_lambda.template_values import Template
    from shardlane_lab.local_stack import StackOptions

FROM_SOURCE = {"aws:cdk:disable-asset-staging": True}
"""Context with which the CDK names an asset's own folder instead of a copy of it."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "up",
        help="run the app's whole stack on this machine until it is stopped",
        description="Runs what the template deploys: the local Kinesis with the template's "
        "streams and consumers, its functions behind their event source mappings, and DynamoDB, "
        "SQS, SNS, S3, CloudWatch and Logs. Prints the variables that lead the AWS CLI and SDKs "
        "there. Everything listens on 127.0.0.1, nothing reaches AWS, nothing is kept.",
    )
    parser.add_argument(
        "--kinesis-port", type=port_number, default=0, metavar="PORT", help="default: a free one"
    )
    parser.add_argument(
        "--aws-port",
        type=port_number,
        default=0,
        metavar="PORT",
        help="of all the other services (default: a free one)",
    )
    parser.add_argument(
        "--delays",
        choices=("none", "measured"),
        default="none",
        help="answer at once, or as late as the service did in the published measurement",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the delays (default: 0)")
    parser.add_argument(
        "--json", action="store_true", help="print the variables as JSON, and logs to stderr"
    )
    parser.add_argument(
        "--env",
        type=Path,
        metavar="FILE",
        help="write the variables there, for other shells to read (`. FILE`); it is removed at "
        "the end",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print the functions' logs")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="run the functions from the app's own folders: what you change there is loaded by "
        "the next invocation",
    )
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    if given.watch and given.assembly is not None:
        raise LabError("--watch needs the app's own folders: it goes with --app, not --assembly")
    if given.assembly is None:
        print("Synthesizing the CDK app …", file=sys.stderr, flush=True)
    deployed = template(given, FROM_SOURCE if given.watch else None)
    try:
        asyncio.run(_serve(deployed, _options(given), given))
    except OSError as error:
        raise LabError(error.strerror or str(error)) from error
    return 0


def _options(given: argparse.Namespace) -> StackOptions:
    from shardlane_lab.local_kinesis.delays import Delays
    from shardlane_lab.local_lambda.poll_timing import PollTiming
    from shardlane_lab.local_stack import StackOptions

    measured = given.delays == "measured"
    return StackOptions(
        kinesis_port=given.kinesis_port,
        aws_port=given.aws_port,
        delays=Delays.measured() if measured else Delays.none(),
        timing=PollTiming.measured() if measured else PollTiming.exact(),
        seed=given.seed,
        watch=given.watch,
    )


async def _serve(deployed: Template, options: StackOptions, given: argparse.Namespace) -> None:
    from shardlane_lab.local_stack import LocalStack

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    logs = sys.stderr if given.json else sys.stdout  # a program that reads JSON reads nothing else
    show = partial(_show_log, file=logs)
    async with LocalStack(deployed, options, on_log=None if given.quiet else show) as stack:
        _say(stack.variables(), given)
        failing = asyncio.create_task(stack.wait())
        stopping = asyncio.create_task(stopped.wait())
        done, _ = await asyncio.wait((failing, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if failing in done:
            failing.result()  # a part of the stack failed: this raises why
        await end_task(failing)
    if given.env is not None:
        given.env.unlink(missing_ok=True)  # who reads it later would look for a stack that is gone


def _show_log(name: str, line: str, *, file: TextIO) -> None:
    print(f"{name}  {line}", file=file, flush=True)


def _say(variables: Mapping[str, str], given: argparse.Namespace) -> None:
    exports = "\n".join(f"export {name}={value}" for name, value in variables.items())
    if given.env is not None:
        given.env.parent.mkdir(parents=True, exist_ok=True)
        given.env.write_text(exports + "\n", encoding="utf-8")
    if given.json:
        print(json.dumps(variables), flush=True)
        return
    print(exports, flush=True)
    print("# Running, and reading the stream. Ctrl-C stops it.", flush=True)
