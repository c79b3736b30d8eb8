"""``shardlane-lab kinesis``: the local Kinesis alone, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shardlane_lab.errors import LabError

if TYPE_CHECKING:
    import ssl

    from shardlane_lab.local_kinesis.settings_file import ServiceSettings

T = TypeVar("T")

CERTIFICATE = Path("out/local-kinesis.pem")

_EPILOG = """\
A file of limits and delays (TOML); what it does not say stays as it is:

  [limits]
  get_records_per_s = 10
  write_bytes_per_s = "off"
  [delays]
  base = "measured"
  push_spread_ms = 300

A file of faults (TOML or JSON):

  seed = 7
  [[fault]]
  kind = "throttle"
  operation = "GetRecords"
  probability = 0.05
  burst = 3

Every name is in docs/local-kinesis.md; a name that is wrong is answered with those that exist.
"""


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
        "Ctrl-C or SIGTERM.\nHTTP/1.1 and HTTP/2, JSON and CBOR come to the same port. Nothing is "
        "kept.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=port_number, default=4567, help="0 takes any free one (default: 4567)"
    )
    _add_behaviour(parser)
    parser.add_argument(
        "--tls",
        type=Path,
        nargs="?",
        const=CERTIFICATE,
        metavar="CERTIFICATE",
        help="serve HTTPS with a certificate made for this run, and write the certificate to this "
        f"file for clients to trust (without a file: {CERTIFICATE})",
    )
    parser.set_defaults(execute=execute)


def _add_behaviour(parser: argparse.ArgumentParser) -> None:
    settings = parser.add_mutually_exclusive_group()
    settings.add_argument(
        "--delays",
        choices=("none", "measured"),
        default="none",
        help="answer at once, or as late as the service did in the published measurement "
        "(default: none)",
    )
    settings.add_argument(
        "--settings",
        type=Path,
        metavar="FILE",
        help="limits and delays, see below; it says the delays too, so --delays cannot",
    )
    parser.add_argument(
        "--faults", type=Path, metavar="FILE", help="what goes wrong, where, how often; see below"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of the delays (default: 0); a file of faults has its own",
    )


def execute(given: argparse.Namespace) -> int:
    from shardlane_lab.local_kinesis.faults import read_fault_plan
    from shardlane_lab.local_kinesis.serve import serve

    settings = _settings(given)
    faults = None if given.faults is None else _read("faults", read_fault_plan, given.faults)
    tls = None if given.tls is None else _made_tls(given.tls)
    try:
        asyncio.run(
            serve(
                given.port,
                delays=settings.delays,
                limits=settings.limits,
                seed=given.seed,
                faults=faults,
                tls=tls,
                ready=lambda port: _say(port, given.tls),
            )
        )
    except OSError as error:
        raise LabError(error.strerror or str(error)) from error
    return 0


def _settings(given: argparse.Namespace) -> ServiceSettings:
    from shardlane_lab.local_kinesis.settings_file import read_service_settings, service_settings

    if given.settings is None:
        return service_settings({"delays": {"base": given.delays}})
    return _read("settings", read_service_settings, given.settings)


def _read(what: str, read: Callable[[Path], T], path: Path) -> T:
    """Raises ``LabError`` that names the file, the field, the value and what is allowed."""
    try:
        return read(path)
    except OSError as error:
        raise LabError(f"cannot read the {what} {path}: {error.strerror}") from error
    except ValueError as error:
        raise LabError(str(error)) from error


def _made_tls(certificate: Path) -> ssl.SSLContext:
    from shardlane_lab.local_kinesis.serve import made_tls

    try:
        certificate.parent.mkdir(parents=True, exist_ok=True)
        return made_tls(certificate)
    except OSError as error:
        raise LabError(f"cannot write the certificate {certificate}: {error.strerror}") from error


def _say(port: int, certificate: Path | None) -> None:
    endpoint = f"{'http' if certificate is None else 'https'}://127.0.0.1:{port}"
    variables = {
        "AWS_ENDPOINT_URL_KINESIS": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    if certificate is not None:
        # The first is read by boto3 and the AWS CLI, the second by Node.js.
        variables |= dict.fromkeys(
            ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), shlex.quote(str(certificate.resolve()))
        )
    shown = " ".join(f"{name}={value}" for name, value in variables.items())
    print(
        f"Local Kinesis on {endpoint} (Ctrl-C stops it). For the AWS CLI and SDKs:\n"
        f"  export {shown}",
        flush=True,
    )
