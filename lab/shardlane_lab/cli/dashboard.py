"""``shardlane-lab dashboard``: the app's CloudWatch dashboard with the metrics of this machine."""

from __future__ import annotations

import argparse
import os
import time
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shardlane_lab.cli.options import add_app, assembly_folder
from shardlane_lab.errors import LabError

if TYPE_CHECKING:
    from shardlane_lab.dashboard.metrics import RecordedMetrics

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_CLOUDWATCH", "AWS_ENDPOINT_URL")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_MINUTES = 180


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "dashboard",
        help="draw the app's CloudWatch dashboard with the metrics of a run or of `up`",
        description="Draws the dashboard that the template deploys, widget by widget, with the "
        "metrics of a run on disk or of a local stack that runs (`shardlane-lab up`). Writes one "
        "HTML page and prints its path.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("run", nargs="?", type=Path, metavar="DIR", help="folder of a run")
    source.add_argument(
        "--up",
        nargs="?",
        const="",
        metavar="URL",
        help="the local stack that runs: where its CloudWatch is (default: "
        "AWS_ENDPOINT_URL_CLOUDWATCH or AWS_ENDPOINT_URL, which `up` prints)",
    )
    parser.add_argument(
        "--minutes", type=_minutes, default=15, help="with --up: how far back (default: 15)"
    )
    parser.add_argument(
        "--every",
        type=_refresh_seconds,
        metavar="SECONDS",
        help="with --up: draw again every so many seconds until Ctrl-C; the page reloads itself",
    )
    parser.add_argument("--name", help="which dashboard, where the app deploys several")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="default: dashboard.html in the run's folder, out/dashboard.html with --up",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    if given.run is None:
        return _of_local_stack(given)
    if given.every is not None:
        raise LabError("--every draws a running stack again: it goes with --up, not with a run")
    return _of_run(given)


def _of_run(given: argparse.Namespace) -> int:
    from shardlane_lab.dashboard.write import metrics_of_run, write_dashboard
    from shardlane_lab.run_record import RECORD

    if not (given.run / RECORD).is_file():  # before the app is synthesized, which takes seconds
        raise LabError(f"{given.run} holds no run: {RECORD} is missing")
    assembly = assembly_folder(given)
    try:
        metrics = metrics_of_run(assembly, given.run, given.name)
    except ValueError as error:
        raise LabError(str(error)) from error
    out = given.out or given.run / "dashboard.html"
    source = f"the run {given.run.resolve().name}"
    write_dashboard(assembly, metrics, out, source=source, name=given.name)
    return _done(out, given)


def _of_local_stack(given: argparse.Namespace) -> int:
    endpoint = _endpoint(given.up)
    out: Path = given.out or Path("out/dashboard.html")
    draw = _drawing(given, endpoint, out)
    draw()
    _done(out, given)
    while given.every is not None:
        time.sleep(given.every)
        draw()
    return 0


def _drawing(given: argparse.Namespace, endpoint: str, out: Path) -> Callable[[], None]:
    """The app is synthesized once."""
    from shardlane_lab.dashboard.write import write_dashboard

    assembly = assembly_folder(given)

    def draw() -> None:
        write_dashboard(
            assembly,
            _metrics_at(endpoint, assembly, given),
            out,
            source="the local stack",
            name=given.name,
            again_s=given.every,
        )

    return draw


def _metrics_at(endpoint: str, assembly: Path, given: argparse.Namespace) -> RecordedMetrics:
    from botocore.exceptions import BotoCoreError, ClientError

    from shardlane_lab.dashboard.local_metrics import local_metrics
    from shardlane_lab.dashboard.write import wanted_metrics
    from shardlane_lab.local_aws.services import local_client
    from shardlane_lab.local_lambda.function_config import LOCAL_REGION

    client = partial(local_client, endpoint=endpoint, region=LOCAL_REGION)
    try:
        return local_metrics(
            wanted_metrics(assembly, given.name),
            client,
            now_ms=time.time_ns() / 1e6,
            minutes=given.minutes,
        )
    except (BotoCoreError, ClientError) as error:
        raise LabError(f"no metrics from the local stack at {endpoint}: {error}") from error


def _endpoint(url: str) -> str:
    """Only ever this machine: no call of this command may reach an account."""
    found = url or next((os.environ[name] for name in ENDPOINT_VARIABLES if name in os.environ), "")
    if not found:
        raise LabError(
            "where is the local stack? Set AWS_ENDPOINT_URL as `shardlane-lab up` prints it, or "
            "name it: --up http://127.0.0.1:PORT"
        )
    try:
        host = urlsplit(found).hostname
    except ValueError:
        host = None
    if host not in LOOPBACK:
        raise LabError(f"{found} is not on this machine: allowed are {', '.join(LOOPBACK)}")
    return found


def _done(out: Path, given: argparse.Namespace) -> int:
    print(f"dashboard: {out}", flush=True)
    if given.open and not webbrowser.open(out.resolve().as_uri()):
        raise LabError(f"no browser to open; the page is {out}")
    return 0


def _minutes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed are 1 to {MOST_MINUTES} minutes")
    return int(text)


def _refresh_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: allowed are 1 to 3600 seconds")
    return seconds
