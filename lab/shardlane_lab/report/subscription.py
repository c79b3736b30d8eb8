"""SubscribeToShard of each enhanced fan-out consumer, minute by minute.

Metrics: ``SubscribeToShard.Success``, ``SubscribeToShard.RateExceeded`` and
``SubscribeToShardEvent.MillisBehindLatest`` of namespace AWS/Kinesis, by StreamName and
ConsumerName ("Enhanced fan-out metrics" in the Kinesis Data Streams documentation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shardlane_lab.metric import MinuteStatistic, dimensions
from shardlane_lab.published import PublishedRound
from shardlane_lab.report.basis import basis
from shardlane_lab.report.compared import Compared
from shardlane_lab.run_record import ConsumerRecord, Run


@dataclass(frozen=True, slots=True)
class Subscription:
    label: str
    successes: Mapping[int, float]
    """By minute; minutes without one are not there."""
    refusals: Mapping[int, float]
    behind_latest_max_ms: Mapping[int, float]
    total_successes: float
    total_refusals: Compared
    furthest_behind: Compared
    """Largest MillisBehindLatest of the run; None when no event was counted."""


def subscriptions(run: Run, published: PublishedRound) -> tuple[Subscription, ...]:
    """One for each consumer that is registered with the stream; none without metrics."""
    if not run.statistics:
        return ()
    return tuple(
        _subscription(run, consumer, consumer.efo_consumer, published)
        for consumer in run.record.consumers
        if consumer.efo_consumer
    )


def _subscription(
    run: Run, consumer: ConsumerRecord, name: str, published: PublishedRound
) -> Subscription:
    wanted = dimensions(StreamName=run.record.stream, ConsumerName=name)
    rows = [row for row in run.statistics if row.dimensions == wanted]
    successes = _sums(rows, "SubscribeToShard.Success")
    refusals = _sums(rows, "SubscribeToShard.RateExceeded")
    behind = {
        row.minute: row.maximum
        for row in rows
        if row.name == "SubscribeToShardEvent.MillisBehindLatest"
    }
    mechanism = basis(run.record, drawn=False)
    return Subscription(
        consumer.label,
        successes,
        refusals,
        behind,
        total_successes=sum(successes.values()),
        total_refusals=Compared(sum(refusals.values()), mechanism, published.subscribe_refusals),
        furthest_behind=Compared(
            max(behind.values(), default=None),
            mechanism,
            published.behind_latest_max_ms,
        ),
    )


def _sums(rows: list[MinuteStatistic], name: str) -> dict[int, float]:
    return {row.minute: row.sum for row in rows if row.name == name and row.sum}
