"""What CloudWatch would have counted during a simulated run.

Names and dimensions: "Monitoring the Amazon Kinesis Data Streams Service with Amazon CloudWatch"
and "Types of metrics for Lambda functions" in the AWS documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np

from shardlane_lab.metric import Datum, Dimensions, dimensions
from shardlane_lab.run_record import ConsumerRecord, RunRecord
from shardlane_lab.simulator.arrivals import Times
from shardlane_lab.simulator.reading import Reading
from shardlane_lab.simulator.shard_run import ShardRun

KINESIS, LAMBDA = "AWS/Kinesis", "AWS/Lambda"
SUBSCRIPTION_MS = 300_000.0
"""A subscription's life (SubscribeToShard, API Reference)."""


def data_of(run: ShardRun, record: RunRecord) -> Iterator[Datum]:
    """All data of the run. ``record.consumers`` are those of ``run.readings``, in their order."""
    stream = dimensions(StreamName=record.stream)
    written_ms = record.started_ms + run.arrivals.written_ms
    yield from _data(KINESIS, "IncomingRecords", stream, written_ms, repeat(1.0))
    for reading, consumer in zip(run.readings, record.consumers, strict=True):
        of = _Source(reading, consumer, record)
        yield from of.reads(stream)
        yield from of.pushes()
        yield from of.invocations()


class _Source:
    """One reader's data."""

    def __init__(self, reading: Reading, consumer: ConsumerRecord, record: RunRecord) -> None:
        self._reading = reading
        self._consumer = consumer
        self._record = record
        self._start_ms = record.started_ms

    def reads(self, stream: Dimensions) -> Iterator[Datum]:
        answered_ms = self._start_ms + self._reading.answered_ms
        refused_ms = self._start_ms + self._reading.refused_ms
        yield from _data(KINESIS, "GetRecords.Success", stream, answered_ms, repeat(1.0))
        yield from _data(KINESIS, "GetRecords.Success", stream, refused_ms, repeat(0.0))
        name = "ReadProvisionedThroughputExceeded"
        yield from _data(KINESIS, name, stream, refused_ms, repeat(1.0))

    def pushes(self) -> Iterator[Datum]:
        """A subscription stands when the first record is sent and is renewed at its end; what it
        pushes is never behind, because the model has no limit that could hold it up."""
        if self._consumer.efo_consumer is None:
            return
        where = dimensions(StreamName=self._record.stream, ConsumerName=self._consumer.efo_consumer)
        renewed_ms = np.arange(0.0, self._record.seconds * 1000.0, SUBSCRIPTION_MS)
        received_ms = self._start_ms + self._reading.received_ms
        yield from _data(
            KINESIS, "SubscribeToShard.Success", where, self._start_ms + renewed_ms, repeat(1.0)
        )
        name = "SubscribeToShardEvent.MillisBehindLatest"
        yield from _data(KINESIS, name, where, received_ms, repeat(0.0), "Milliseconds")

    def invocations(self) -> Iterator[Datum]:
        if self._consumer.function is None:
            return
        where = dimensions(FunctionName=self._consumer.function)
        reading = self._reading
        at_ms = self._start_ms + reading.invoked_ms
        ages, durations = reading.iterator_age_ms.tolist(), reading.duration_ms.tolist()
        yield from _data(LAMBDA, "Invocations", where, at_ms, repeat(1.0))
        yield from _data(LAMBDA, "Errors", where, at_ms, repeat(0.0))
        yield from _data(LAMBDA, "IteratorAge", where, at_ms, ages, "Milliseconds")
        yield from _data(LAMBDA, "Duration", where, at_ms, durations, "Milliseconds")


def _data(
    namespace: str,
    name: str,
    where: Dimensions,
    at_ms: Times,
    values: Iterable[float],
    unit: str = "Count",
) -> Iterator[Datum]:
    for moment, value in zip(at_ms.tolist(), values):  # noqa: B905 – a value may repeat for ever
        yield Datum(namespace, name, where, value, moment, unit)
