"""``shardlane-lab plan``: which way of reading, at what latency and price."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from shardlane_lab.planner.question import Question
from shardlane_lab.prices.price_table import read_prices, shipped_prices
from shardlane_lab.simulator.parameters import CALIBRATIONS

_DEFAULTS: dict[str, Any] = {
    each.name: each.default for each in fields(Question) if each.default is not MISSING
}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "plan",
        help="compare the ways of reading a stream by latency and price",
        description="Sizes the stream, simulates the ways of reading it, prices them from a dated "
        "table, chooses the cheapest that does what was asked and says where the answer flips.",
    )
    _add_load(parser)
    _add_wishes(parser)
    parser.add_argument(
        "--prices", type=Path, metavar="FILE", help="a price table instead of the one that ships"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON instead of a screen")
    shape.add_argument(
        "--cost-table", action="store_true", help="print costs for 1 to 20 consumers as Markdown"
    )
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    # Not above: no other command needs numpy, and importing it takes longer than all the rest.
    from shardlane_lab.planner import as_json, cost_table, text
    from shardlane_lab.planner.plan import plan

    asked = Question(**{each.name: getattr(given, each.name) for each in fields(Question)})
    table = shipped_prices() if given.prices is None else read_prices(given.prices)
    prices = table.region(asked.region)
    if given.cost_table:
        print(cost_table.render(asked, prices), end="")
        return 0
    with _counting() as on_run:
        found = plan(asked, prices, on_run=on_run)
    print(as_json.render(found) if given.json else text.render(found), end="")
    return 0 if found.choice else 1


def _add_load(parser: argparse.ArgumentParser) -> None:
    load = parser.add_argument_group("the stream")
    _number(load, "--rate", "rate_per_s", "records per second of the whole stream", needed=True)
    _number(load, "--size", "record_bytes", "bytes of a record", kind=_whole)
    _number(load, "--keys", "keys", "partition keys, all as busy as each other", kind=_whole)
    _number(load, "--shards", "shards", "shards (default: what the load needs)", kind=_whole)
    _number(load, "--retention-hours", "retention_hours", "how long records are kept")
    load.add_argument("--region", default=_DEFAULTS["region"], help="(default: %(default)s)")


def _add_wishes(parser: argparse.ArgumentParser) -> None:
    readers = parser.add_argument_group("the readers")
    _number(readers, "--consumers", "consumers", "applications that read everything", kind=_whole)
    _number(readers, "--handler-ms", "handler_ms", "time for one record")
    _number(readers, "--p99-ms", "wanted_p99_ms", "wanted: arrival to the end of handling")
    _number(readers, "--budget", "budget_usd", "USD a month")
    _number(readers, "--outage-minutes", "outage_minutes", "an outage to catch up after")
    _number(readers, "--interval-ms", "interval_ms", "pause between two calls of a poller")
    _number(readers, "--memory-mb", "memory_mb", "of the functions", kind=_whole)
    _number(readers, "--machine-usd", "machine_usd", "machines of one boto3 consumer, a month")
    _number(readers, "--seeds", "seeds", "runs of the simulator for each option", kind=_whole)
    readers.add_argument(
        "--architecture",
        choices=("x86_64", "arm64"),
        default=_DEFAULTS["architecture"],
        help="of the functions (default: %(default)s)",
    )
    readers.add_argument(
        "--calibration",
        choices=tuple(CALIBRATIONS),
        default=_DEFAULTS["calibration"],
        help="H0: botocore's backoff; H1: 1.29 times as long (default: %(default)s)",
    )


def _number(
    group: argparse._ArgumentGroup,
    flag: str,
    name: str,
    what: str,
    *,
    kind: Callable[[str], float] | None = None,
    needed: bool = False,
) -> None:
    default = _DEFAULTS.get(name)
    says_default = default is not None and "(default" not in what
    group.add_argument(
        flag,
        dest=name,
        type=kind or _decimal,
        default=default,
        required=needed,
        metavar="N",
        help=f"{what} (default: %(default)s)" if says_default else what,
    )


def _whole(text_: str) -> int:
    try:
        return int(text_)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text_!r} is not a whole number") from None


def _decimal(text_: str) -> float:
    try:
        number = float(text_)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text_!r} is not a number") from None
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text_!r} is not a finite number")
    return number


@contextmanager
def _counting() -> Iterator[Callable[[], None]]:
    """Shows on a terminal how many runs have been made; nobody knows beforehand how many there
    will be, because what options have in common is run once."""
    console = Console(stderr=True)
    columns = ("simulating", "{task.completed} runs")
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda: progress.advance(task)
