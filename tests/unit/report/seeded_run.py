"""Run folders out of a seed: shaped like the published rounds, made without running anything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from shardlane_lab.gauge import Gauge, gauge_data
from shardlane_lab.metric import Datum, dimensions, per_minute
from shardlane_lab.run_record import ConsumerRecord, Kind, Run, RunRecord
from shardlane_lab.sample import Sample

START_MS = 1_780_000_000_000.0
STREAM = "order-events"
RATE_PER_S = 5.0
LIBRARY = ConsumerRecord(label="shardlane-polling", kind="shardlane-polling")


@dataclass(frozen=True)
class _Sent:
    seq: int
    sent_ms: float
    arrival_ms: float

    @property
    def sequence_number(self) -> str:
        return str(49_671_000_000_000_000_000_000_000_000_000_000_000_000_000_000_000 + self.seq)


def seeded_run(
    *,
    seed: int = 1,
    seconds: float = 60.0,
    pollers: int = 1,
    published_round: str | None = "1",
    library: bool = False,
    **changes: Any,
) -> Run:
    """A whole run; ``library``: with a consumer of the library, which says how it does.
    ``changes`` replace fields of its record."""
    rng = random.Random(seed)
    consumers = (*_consumers(pollers), *((LIBRARY,) if library else ()))
    records = list(_records(rng, seconds))
    samples = [
        sample for consumer in consumers for sample in _received(rng, consumer, records, pollers)
    ]
    record = RunRecord(
        name=f"round-{published_round}" if published_round else "own",
        title="Four consumers, one get_records poller" if pollers == 1 else "Six consumers",
        target="simulated",
        stream=STREAM,
        started_ms=START_MS,
        seconds=seconds,
        rate_per_s=RATE_PER_S,
        sent=len(records),
        first_put_ms=8_431.5,
        published_round=published_round,
        consumers=consumers,
        environment={"delays": "measured", "seed": seed, "limiter": "token-bucket"},
    )
    gauges = list(_gauges(rng, seconds)) if library else []
    data = [*_metrics(rng, consumers, seconds, pollers), *gauge_data(gauges)]
    return Run(replace(record, **changes), samples, per_minute(data, START_MS), gauges)


def _consumers(pollers: int) -> tuple[ConsumerRecord, ...]:
    labels = ["boto3-get-records"]
    if pollers > 1:
        labels = [f"boto3-get-records-{number}" for number in range(1, pollers + 1)]
    return (
        ConsumerRecord(
            label="lambda-standard", kind="lambda-standard", function="order-latency-standard"
        ),
        ConsumerRecord(
            label="lambda-efo",
            kind="lambda-efo",
            function="order-latency-efo",
            efo_consumer="order-events-lambda-efo",
        ),
        ConsumerRecord(label="boto3-efo", kind="boto3-efo", efo_consumer="order-events-boto3-efo"),
        *(
            ConsumerRecord(
                label=label, kind="boto3-get-records", surfaced_throttles=12 if pollers > 1 else 0
            )
            for label in labels
        ),
    )


def _records(rng: random.Random, seconds: float) -> Iterator[_Sent]:
    for seq in range(int(seconds * RATE_PER_S)):
        sent_ms = START_MS + seq * 1000 / RATE_PER_S
        way_ms = 8_500.0 if seq == 0 else 66 + rng.lognormvariate(1.62, 1.0)
        yield _Sent(seq, sent_ms, round(sent_ms + way_ms))


def _received(
    rng: random.Random, consumer: ConsumerRecord, records: Sequence[_Sent], pollers: int
) -> list[Sample]:
    """Records that are received together form a batch."""
    arrived = sorted(records, key=lambda each: (each.arrival_ms, each.seq))
    timed = [
        (each.arrival_ms + _latency_ms(rng, consumer.kind, each, pollers), each) for each in arrived
    ]
    timed.sort(key=lambda pair: (pair[0], pair[1].seq))
    samples = []
    for recv_ms, batch in groupby(timed, key=lambda pair: pair[0]):
        together = [each for _, each in batch]
        samples += [_sample(consumer.label, each, recv_ms, len(together)) for each in together]
    return samples


def _latency_ms(rng: random.Random, kind: Kind, record: _Sent, pollers: int) -> float:
    match kind:
        case "lambda-efo":
            return round(17.5 + rng.uniform(0, 102), 1)
        case "boto3-efo":
            late = rng.expovariate(1 / 30) if rng.random() < 0.08 else 0
            return round(25 + rng.uniform(0, 102) + late, 1)
        case "lambda-standard":
            return round(12 + 995 - (record.arrival_ms - START_MS) % 995, 1)
        case "shardlane-polling" | "shardlane-efo":
            return round(rng.lognormvariate(5.0, 0.8), 1)
        case "boto3-get-records":
            if pollers == 1:
                return round(rng.lognormvariate(5.1, 0.85), 1)
            return round(rng.lognormvariate(6.65, 1.0), 1)


def _sample(label: str, record: _Sent, recv_ms: float, batch: int) -> Sample:
    return Sample(
        label=label,
        seq=record.seq,
        sent_ms=record.sent_ms,
        arrival_ms=record.arrival_ms,
        recv_ms=recv_ms,
        batch=batch,
        key=f"key-{record.seq % 10}",
        shard_id="shardId-000000000000",
        sequence_number=record.sequence_number,
    )


def _gauges(rng: random.Random, seconds: float) -> Iterator[Gauge]:
    """A handler that is slow for a while in the middle: the channel fills and empties."""
    for second in range(int(seconds)):
        slow = seconds * 0.3 < second < seconds * 0.6
        depth = min(64, rng.randrange(4) + (60 if slow else 0))
        lag_ms = rng.uniform(80, 300) + (150 * (second - seconds * 0.3) if slow else 0)
        yield Gauge(
            label=LIBRARY.label,
            at_ms=START_MS + second * 1000,
            channel_depth=depth,
            lag_ms=round(lag_ms, 1),
            unsettled=depth + 5,
            keys_aside=int(slow),
        )


def _metrics(
    rng: random.Random, consumers: Sequence[ConsumerRecord], seconds: float, pollers: int
) -> Iterator[Datum]:
    stream = dimensions(StreamName=STREAM)
    throttled_per_s = 0.3 if pollers == 1 else 2.2
    for second in range(int(seconds)):
        at_ms = START_MS + second * 1000
        for _ in range(5):
            yield Datum("AWS/Kinesis", "GetRecords.Success", stream, 1.0, at_ms)
        if rng.random() < throttled_per_s:
            refused = max(1.0, round(throttled_per_s))
            name = "ReadProvisionedThroughputExceeded"
            yield Datum("AWS/Kinesis", name, stream, refused, at_ms)
        yield from _function_metrics(rng, consumers, at_ms)
        if second % 300 == 0:
            yield from _subscribe_metrics(consumers, at_ms)


def _function_metrics(
    rng: random.Random, consumers: Sequence[ConsumerRecord], at_ms: float
) -> Iterator[Datum]:
    for consumer in consumers:
        if consumer.function:
            age_ms = rng.gauss(910 if consumer.kind == "lambda-standard" else 58, 3)
            name = dimensions(FunctionName=consumer.function)
            yield Datum("AWS/Lambda", "IteratorAge", name, age_ms, at_ms, "Milliseconds")


def _subscribe_metrics(consumers: Sequence[ConsumerRecord], at_ms: float) -> Iterator[Datum]:
    for consumer in consumers:
        if consumer.efo_consumer:
            name = dimensions(StreamName=STREAM, ConsumerName=consumer.efo_consumer)
            yield Datum("AWS/Kinesis", "SubscribeToShard.Success", name, 1.0, at_ms)
            yield Datum("AWS/Kinesis", "SubscribeToShard.RateExceeded", name, 0.0, at_ms)
            behind = "SubscribeToShardEvent.MillisBehindLatest"
            yield Datum("AWS/Kinesis", behind, name, 0.0, at_ms, "Milliseconds")
