"""Reads, throttles and iterator ages minute by minute, and their ranges beside the published.

Metric names and dimensions are CloudWatch's: see "Monitoring the Amazon Kinesis Data Streams
Service with Amazon CloudWatch" and "Types of metrics for Lambda functions" in the AWS
documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.metric import MinuteStatistic, dimensions
from shardlane_lab.published import PublishedRound, Range
from shardlane_lab.report.basis import FAN_OUT, basis
from shardlane_lab.report.compared import Basis, Compared
from shardlane_lab.run_record import Kind, Run

THROTTLED = "Throttled GetRecords"
SUCCESSFUL = "Successful GetRecords"

_AGE_PUBLISHED_AS: dict[Kind, str] = {
    "lambda-standard": "IteratorAge_average_standard_ms",
    "lambda-efo": "IteratorAge_average_efo_ms",
}


@dataclass(frozen=True, slots=True)
class Minute:
    number: int
    """From the first scheduled send."""
    whole: bool
    """False for the minute in which the run ended, and after."""
    throttled: float
    """GetRecords calls that the service refused."""
    successful: float
    """GetRecords calls that it answered, all readers together."""
    iterator_age_ms: Mapping[str, float | None]
    """Average by consumer label; None when the function was not invoked."""


@dataclass(frozen=True, slots=True)
class MinuteRange:
    """One figure over the whole minutes of a run."""

    metric: str
    lowest: float | None
    highest: float | None
    mean: Compared
    """Its published value is the middle of the published range."""
    published: Range | None
    scaled: bool
    """True when no minute was whole: counts are then scaled up to a minute."""


@dataclass(frozen=True, slots=True)
class Minutes:
    each: tuple[Minute, ...]
    ranges: tuple[MinuteRange, ...]


def minutes(run: Run, published: PublishedRound) -> Minutes | None:
    """None when the run has no metrics."""
    if not run.statistics:
        return None
    lasted_s = lasted_seconds(run)
    each = _each_minute(run, lasted_s)
    return Minutes(each, tuple(_ranges(run, each, published)))


def lasted_seconds(run: Run) -> float:
    """How long the run sent: as long as it was to, or until its last sample if it was stopped."""
    record = run.record
    return record.seconds if record.complete else min(record.seconds, _last_receipt_s(run))


def _last_receipt_s(run: Run) -> float:
    start_ms = run.record.started_ms
    last_ms = max((sample.recv_ms for sample in run.samples), default=start_ms)
    return max(0.0, (last_ms - start_ms) / 1000)


def _scale(run: Run) -> float:
    """What makes a minute of the first one. Consumers read on after the last send until they have
    everything, and those reads are in its counts."""
    read_s = max(lasted_seconds(run), _last_receipt_s(run))
    return 60 / read_s if 0 < read_s < 60 else 1.0


def _each_minute(run: Run, lasted_s: float) -> tuple[Minute, ...]:
    record = run.record
    stream = dimensions(StreamName=record.stream)
    throttled = _by_minute(run.statistics, "ReadProvisionedThroughputExceeded", stream)
    successful = _by_minute(run.statistics, "GetRecords.Success", stream)
    ages = {
        consumer.label: _by_minute(
            run.statistics, "IteratorAge", dimensions(FunctionName=consumer.function)
        )
        for consumer in record.consumers
        if consumer.function
    }
    last = max((row.minute for row in run.statistics), default=0)
    return tuple(
        Minute(
            number,
            whole=(number + 1) * 60 <= lasted_s,
            throttled=throttled[number].sum if number in throttled else 0.0,
            successful=successful[number].sum if number in successful else 0.0,
            iterator_age_ms={
                label: rows[number].average if number in rows else None
                for label, rows in ages.items()
            },
        )
        for number in range(max(last + 1, math.ceil(lasted_s / 60)))
    )


def _by_minute(
    rows: Iterable[MinuteStatistic], name: str, wanted: Sequence[tuple[str, str]]
) -> dict[int, MinuteStatistic]:
    return {row.minute: row for row in rows if row.name == name and row.dimensions == wanted}


def _ranges(run: Run, each: Sequence[Minute], published: PublishedRound) -> Iterable[MinuteRange]:
    beside = published.per_minute
    mechanism = basis(run.record, drawn=False)
    whole = [minute for minute in each if minute.whole]
    scale = 1.0 if whole else _scale(run)
    counted = whole or list(each[:1])

    def count(metric: str, values: Callable[[Minute], float], key: str) -> MinuteRange:
        scaled = [values(minute) * scale for minute in counted]
        return _range(metric, scaled, mechanism, beside.get(key), scaled=scale != 1)

    yield count(
        THROTTLED,
        lambda minute: minute.throttled,
        "ReadProvisionedThroughputExceeded_sum",
    )
    yield count(SUCCESSFUL, lambda minute: minute.successful, "GetRecords.Success_sum")
    for consumer in run.record.consumers:
        if consumer.function is None:
            continue
        ages = [minute.iterator_age_ms[consumer.label] for minute in counted]
        yield _range(
            f"IteratorAge {consumer.label}, ms",
            [age for age in ages if age is not None],
            basis(run.record, drawn=consumer.kind in FAN_OUT),
            beside.get(_AGE_PUBLISHED_AS.get(consumer.kind, "")),
            scaled=False,
        )


def _range(
    metric: str, values: Sequence[float], basis_: Basis, published: Range | None, *, scaled: bool
) -> MinuteRange:
    mean = sum(values) / len(values) if values else None
    middle = sum(published) / 2 if published else None
    return MinuteRange(
        metric,
        lowest=min(values, default=None),
        highest=max(values, default=None),
        mean=Compared(mean, basis_, middle),
        published=published,
        scaled=scaled,
    )
