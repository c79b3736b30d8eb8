"""Reads a stream with ``shardlane.consumer``: run as ``python -m bench.peers.ours``.

It ends once it has seen so many different records, or when its input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from bench.peers.asked import ENOUGH_BYTES_PER_S, parser
from bench.peers.printed import Printed
from bench.peers.servers import REGION
from shardlane import Record
from shardlane.consumer import (
    Boto3Kinesis,
    DynamoDBLeaseStore,
    Ending,
    MemoryLeaseStore,
    Position,
    Source,
    Subscription,
    Terms,
    Tuning,
    by_key,
    workers,
)
from shardlane.consumer.pace import Pacing


def subscription(given: argparse.Namespace) -> Subscription:
    polling = Source(pacing=Pacing(interval_s=given.interval, bytes_per_s=ENOUGH_BYTES_PER_S))
    shared = DynamoDBLeaseStore(given.application, endpoint_url=given.dynamodb, region_name=REGION)
    return Subscription(
        given.stream,
        source=polling if given.mode == "polling" else Source.fan_out(given.application),
        leases=shared if given.leases == "dynamodb" else MemoryLeaseStore(),
        start=Position.horizon(),
        kinesis=Boto3Kinesis(endpoint_url=given.kinesis, region_name=REGION),
        tuning=Tuning(terms=Terms(listing_s=5.0)),
    )


class Handlers:
    """One for each way to be called; all print."""

    def __init__(self, given: argparse.Namespace, subscription: Subscription) -> None:
        self._printed = Printed(given.count, timed=given.timed)
        self._subscription = subscription
        self._work_s = given.work_ms / 1000

    def _print(self, record: Record) -> None:
        if self._printed.record(record.sequence_number, record.partition_key):
            self._subscription.stop()

    async def on_loop(self, record: Record) -> None:
        if self._work_s:
            await asyncio.sleep(self._work_s)
        self._print(record)

    def in_thread(self, record: Record) -> None:
        if self._work_s:
            time.sleep(self._work_s)
        self._print(record)

    def of_batch(self, records: Sequence[Record]) -> None:
        for record in records:
            self._print(record)

    def run(self, kind: str, lanes: int) -> Coroutine[Any, Any, Ending]:
        if kind == "batch":
            return self._subscription.run_batches(self.of_batch, size=1_000)
        handler = self.on_loop if kind == "async" else self.in_thread
        if lanes == 1:
            return self._subscription.run(handler)
        return self._subscription.run(handler, workers(lanes, by_key))

    def flush(self) -> None:
        self._printed.flush()


def stop_with_input(subscription: Subscription) -> None:
    while os.read(0, 1 << 16):  # not sys.stdin: its lock would outlive the loop
        pass
    subscription.stop()


async def main() -> int:
    asking = parser(__doc__)
    asking.add_argument("--leases", choices=("memory", "dynamodb"), default="memory")
    asking.add_argument("--handler", choices=("async", "thread", "batch"), default="async")
    asking.add_argument("--lanes", type=int, default=1)
    asking.add_argument("--work-ms", type=float, default=0.0)
    given = asking.parse_args()
    reading = subscription(given)
    handlers = Handlers(given, reading)
    threading.Thread(target=stop_with_input, args=(reading,), daemon=True).start()
    ending = await handlers.run(given.handler, given.lanes)
    handlers.flush()
    return 0 if ending.is_clean else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
