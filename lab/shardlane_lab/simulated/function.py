"""The order-latency function in virtual time: the processor's own batch, schedule and event-loop
driver, with a handler that takes the time that the record asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

from shardlane import FailurePolicy, Record
from shardlane.attempt import bound_to
from shardlane.batch_metrics import BatchMetrics
from shardlane.deadline import deadline_of
from shardlane.drivers.event_loop import run_on_loop
from shardlane.keyed_batch import KeyedBatch
from shardlane.lambda_batch import LambdaBatch
from shardlane.policy import Policies
from shardlane_lab.collector import Collector
from shardlane_lab.local_aws.embedded_metrics import embedded_data
from shardlane_lab.metric import Observer
from shardlane_lab.simulated.receipt import handle
from shardlane_lab.virtual_time import wall_ms


class VirtualClock:
    """The running loop's time. Nothing may block in it."""

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_ms(self) -> float:
        return wall_ms()

    def sleep_s(self, seconds: float) -> None:
        raise RuntimeError("a thread cannot sleep in virtual time")


class OrderLatency:
    """``handler`` is what the runtime calls."""

    def __init__(
        self,
        label: str,
        collector: Collector,
        workers: int,
        random: Random,
        *,
        consumer: str,
        observer: Observer,
    ) -> None:
        """``workers``: handlers at once, by key. ``consumer``: its name in a lot, under which
        ``observer`` is told what the processor counts."""
        self._metrics = BatchMetrics(consumer, write=self._tell)
        self._observer = observer
        self._label = label
        self._collector = collector
        self._workers = workers
        self._random = random
        self._clock = VirtualClock()
        self._policies = Policies(FailurePolicy.stop())

    async def handler(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        entries = event["Records"]

        async def measure(record: Record) -> None:
            await handle(record, self._collector, label=self._label, batch=len(entries))

        batch = KeyedBatch(LambdaBatch(entries), self._policies, self._random.random)
        deadline = deadline_of(context, None, self._clock.monotonic_s())
        call = bound_to(measure, context)
        await run_on_loop(batch, call, self._clock, deadline, None, self._workers)
        outcome = batch.outcome()
        self._metrics.tell(outcome, wall_ms=wall_ms(), now_s=self._clock.monotonic_s())
        unsettled = outcome.first_unsettled
        failures = [] if unsettled is None else [{"itemIdentifier": unsettled}]
        return {"batchItemFailures": failures}

    def _tell(self, line: str) -> None:
        for datum in embedded_data(line):
            self._observer(datum)
