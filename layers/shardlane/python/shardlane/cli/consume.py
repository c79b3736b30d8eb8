"""``shardlane consume``: runs a handler of yours on a stream, in this process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shardlane.cli.account import add_account
from shardlane.cli.consume_setup import (
    check,
    client_options,
    handler_of,
    leases_of,
    policy_of,
    sink_of,
    source_of,
)

if TYPE_CHECKING:
    from shardlane.consumer import Ending, Subscription

UNDRAINED = 1
"""The exit status if something had to be left unfinished."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "consume",
        help="run a handler on a stream, in this process",
        description="Calls a handler for every record of a stream, at least once, in the order of "
        "each key, and shows how it goes on stderr. SIGINT and SIGTERM end it: what has started "
        "is finished, leases are given up, and the last line says what was not drained (exit "
        "status 1 then); a second signal ends it at once. SIGUSR1 redrives what is parked.",
    )
    parser.add_argument("stream", metavar="STREAM", help="name or ARN")
    parser.add_argument(
        "--handler",
        required=True,
        metavar="MODULE:FUNCTION",
        help="takes a record, or with --batch a list of them; plain or async. The module is found "
        "in the working directory or among what is installed",
    )
    _add_reading(parser)
    _add_workers(parser)
    _add_failures(parser)
    _add_output(parser)
    add_account(parser)
    parser.set_defaults(execute=execute)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--source",
        default="polling",
        metavar="polling|efo:NAME",
        help="shared throughput, or enhanced fan-out with the registered consumer NAME, which is "
        "registered if need be (default: polling)",
    )
    group.add_argument(
        "--interval",
        type=float,
        default=0.2,
        metavar="SECONDS",
        help="between two polls of a shard (default: 0.2)",
    )
    group.add_argument(
        "--leases",
        default="memory",
        metavar="memory|dynamodb:TABLE",
        help="dynamodb shares the shards with other processes and survives a restart; memory "
        "reads all of them and forgets (default: memory)",
    )
    group.add_argument(
        "--start",
        default="latest",
        metavar="POSITION",
        help="of shards that have no lease yet: horizon, latest, timestamp:EPOCH_MS_OR_ISO, "
        "sequence:SHARD_ID:NUMBER (default: latest)",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("handling")
    group.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="handlers at once; without --by-key they keep no order (default: 1)",
    )
    group.add_argument(
        "--by-key",
        action="store_true",
        help="one record of a partition key at a time, in order",
    )
    group.add_argument(
        "--batch", type=int, metavar="SIZE", help="call the handler with up to SIZE records"
    )
    group.add_argument(
        "--drain",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="what a stop or a hand-over waits for running handlers (default: 30)",
    )


def _add_failures(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("failures")
    group.add_argument(
        "--on-failure",
        choices=("stop", "park", "drop"),
        default="stop",
        help="after the attempts: hold up its key, park the record and its key, or forget the "
        "record (default: stop)",
    )
    group.add_argument(
        "--attempts", type=int, default=3, metavar="N", help="on each record (default: 3)"
    )
    group.add_argument("--parking-table", metavar="TABLE", help="for --on-failure park")
    group.add_argument("--parking-bucket", metavar="BUCKET", help="of payloads above 350,000 bytes")
    group.add_argument(
        "--consumer",
        metavar="ID",
        help="names this application in the parking table and in metrics: one for each "
        "(default: the stream's name)",
    )
    group.add_argument(
        "--redrive",
        action="store_true",
        help="at the start, hand the parked records to the handler again",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--metrics",
        action="store_true",
        help="write a line of CloudWatch's embedded metric format to stdout every minute",
    )
    group.add_argument("--keys", action="store_true", help="show partition keys")
    group.add_argument("--quiet", action="store_true", help="show nothing while it runs")
    group.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="of the log on stderr (default: warning)",
    )


def execute(given: argparse.Namespace) -> int:
    handler = handler_of(given.handler)
    check(given)
    console = None if given.quiet else _console()
    _log_to(console, given.log_level)
    ending = asyncio.run(_consume(given, handler, console))
    from shardlane.cli.consume_view import farewell

    print(farewell(given.stream, ending), file=sys.stderr, flush=True)
    return 0 if ending.is_clean else UNDRAINED


# --- running it ---------------------------------------------------------------------------------


async def _consume(
    given: argparse.Namespace, handler: Callable[[Any], Any], console: Any
) -> Ending:
    from shardlane.cli.consume_view import show
    from shardlane.consumer import Boto3Kinesis, Position, Subscription, Terms, Tuning

    leases, kinesis = leases_of(given), Boto3Kinesis(**client_options(given))
    subscription = Subscription(
        given.stream,
        source=source_of(given),
        leases=leases,
        start=Position.parse(given.start),
        on_failure=policy_of(given),
        kinesis=kinesis,
        report_to=sink_of(given),
        tuning=Tuning(terms=Terms(drain_s=given.drain)),
    )
    beside = _Beside(subscription)
    beside.listen()
    run = asyncio.create_task(_run(given, subscription, handler))
    if not given.quiet:
        beside.start(show(given.stream, beside.stats, keys=given.keys, console=console))
    if given.redrive:
        beside.start(beside.redrive())
    try:
        return await run
    finally:
        await beside.end()
        await kinesis.close()
        await leases.close()


async def _run(
    given: argparse.Namespace, subscription: Subscription, handler: Callable[[Any], Any]
) -> Ending:
    from shardlane.consumer import by_key, workers

    if given.batch is not None:
        return await subscription.run_batches(handler, size=given.batch)
    key = by_key if given.by_key or given.workers == 1 else None
    return await subscription.run(handler, workers(given.workers, key))


class _Beside:
    """What goes on beside the consumer: signals, the view, redrives."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked_to_stop = False

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGUSR1, lambda: self.start(self.redrive()))

    def start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def stats(self) -> Any:
        from shardlane.consumer import ConsumerError

        with contextlib.suppress(ConsumerError):  # it has not begun, or has ended
            return self._subscription.stats()
        return None

    async def redrive(self) -> None:
        """Says how many keys go on and how many are still parked, never which."""
        from shardlane.errors import ShardlaneError
        from shardlane.parking.redrive import End

        while self.stats() is None:  # noqa: ASYNC110 - its beginning is no event
            await asyncio.sleep(0.1)
        try:
            found = await self._subscription.redrive()
        except ShardlaneError as error:
            _say(f"redrive: {error}")
            return
        lifted = sum(each.end is End.LIFTED for each in found.values())
        handled = sum(each.handled for each in found.values())
        _say(f"redrive: {handled} handled, {lifted} of {len(found)} keys go on as usual")

    def _stop(self) -> None:
        if self._asked_to_stop:
            _say("leaving at once: what has started is not finished")
            os._exit(130)
        self._asked_to_stop = True
        _say("stopping: what has started is finished; a second signal ends it at once")
        # Not at once: its run may not have had its first turn yet.
        asyncio.get_running_loop().call_soon(self._subscription.stop)


def _say(text: str) -> None:
    print(f"shardlane: {text}", file=sys.stderr, flush=True)


def _console() -> Any:
    """A rich console if stderr is a terminal and rich is there."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    return Console(stderr=True)


def _log_to(console: Any, level: str) -> None:
    if console is None:
        logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(message)s")
        return
    from rich.logging import RichHandler

    handler = RichHandler(console=console, show_path=False)
    logging.basicConfig(level=level.upper(), format="%(message)s", handlers=[handler])
