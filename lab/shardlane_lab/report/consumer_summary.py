"""The figures of one consumer. Times are milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shardlane_lab.percentile import Distribution, distribution
from shardlane_lab.published import PublishedRound
from shardlane_lab.report.basis import basis, latency_basis
from shardlane_lab.report.batch import Batches, batches
from shardlane_lab.report.compared import Compared, Statistic, statistics_of
from shardlane_lab.report.delivery import Deliveries, deliveries
from shardlane_lab.run_record import ConsumerRecord, Kind, RunRecord
from shardlane_lab.sample import Sample

FIRST_SEQ = 0
"""The first put pays for connections and cold caches; what it took is shown apart."""

_SAME_LENGTH = 0.01
"""Two runs are as long as each other within this part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSummary:
    """Percentiles are of first deliveries, each record of the stream once."""

    label: str
    kind: Kind
    received: Compared
    """Records of the stream that came, each once: the count behind every percentile here."""
    latency: Mapping[Statistic, Compared]
    """Arrival in the service to receipt."""
    p50_interval_ms: tuple[float, float] | None
    """Where the median of ``latency`` lies with 95 % confidence; None without samples."""
    missing: Compared
    """Records that were sent (distinct ``seq``) and did not come."""
    duplicates: Compared
    """Deliveries of a record that had come before."""
    sent_twice: int
    """Second copies that the producer's resends put into the stream."""
    surfaced_throttles: Compared | None
    """None for consumers that make no ``GetRecords`` call of their own."""
    send_to_receive: Mapping[Statistic, Compared]
    """Without the first put."""
    send_to_receive_count: int
    first_send_to_receive_ms: float | None
    batches: Batches | None


def summarise_consumer(
    record: RunRecord,
    consumer: ConsumerRecord,
    samples: Iterable[Sample],
    published: PublishedRound,
) -> ConsumerSummary:
    """``samples`` are this consumer's; ``published`` is matched by the consumer's label."""
    delivered = deliveries(samples)
    later = [sample for sample in delivered.first if sample.seq != FIRST_SEQ]
    latency = distribution(sample.arrival_to_receive_ms for sample in delivered.first)
    send_to_receive = distribution(sample.send_to_receive_ms for sample in later)
    return ConsumerSummary(
        label=consumer.label,
        kind=consumer.kind,
        received=_count(record, len(delivered.first), published, published.records),
        latency=_latency(record, consumer, latency, published),
        p50_interval_ms=latency.p50_interval if latency else None,
        missing=_count(record, _missing(record, delivered), published, published.missing),
        duplicates=_count(record, delivered.duplicates, published, published.duplicates),
        sent_twice=delivered.sent_twice,
        surfaced_throttles=_surfaced(record, consumer, published),
        send_to_receive=_send_to_receive(record, consumer, send_to_receive, published),
        send_to_receive_count=len(later),
        first_send_to_receive_ms=_first_send_to_receive(delivered),
        batches=batches(consumer.label, delivered.first, basis(record, drawn=False), published),
    )


def same_length(record: RunRecord, published: PublishedRound) -> bool:
    """Whether the run lasted as long as the published one, so that counts compare."""
    difference_s = abs(record.seconds - published.seconds)
    return record.complete and difference_s <= _SAME_LENGTH * published.seconds


def _count(
    record: RunRecord, value: float, published: PublishedRound, beside: float | None
) -> Compared:
    comparable = same_length(record, published)
    return Compared(value, basis(record, drawn=False), beside, comparable=comparable)


def _missing(record: RunRecord, delivered: Deliveries) -> int:
    """A put that failed for the producer may have been stored all the same; then more came than
    were counted as sent, and nothing is missing."""
    return max(0, record.sent - len({sample.seq for sample in delivered.first}))


def _latency(
    record: RunRecord,
    consumer: ConsumerRecord,
    values: Distribution | None,
    published: PublishedRound,
) -> Mapping[Statistic, Compared]:
    beside = published.arrival_to_receive.get(consumer.label, {})
    return {
        name: Compared(value, latency_basis(record, consumer.kind, name), beside.get(name))
        for name, value in statistics_of(values).items()
    }


def _send_to_receive(
    record: RunRecord,
    consumer: ConsumerRecord,
    values: Distribution | None,
    published: PublishedRound,
) -> Mapping[Statistic, Compared]:
    """Only the median was published, and not for every consumer."""
    median = published.send_to_receive_p50.get(consumer.label)
    return {
        name: Compared(
            value,
            latency_basis(record, consumer.kind, name),
            median if name == "p50" else None,
        )
        for name, value in statistics_of(values).items()
    }


def _surfaced(
    record: RunRecord, consumer: ConsumerRecord, published: PublishedRound
) -> Compared | None:
    if consumer.kind != "boto3-get-records":
        return None
    beside = published.surfaced_throttles.get(consumer.label)
    return _count(record, consumer.surfaced_throttles, published, beside)


def _first_send_to_receive(delivered: Deliveries) -> float | None:
    times = [each.send_to_receive_ms for each in delivered.first if each.seq == FIRST_SEQ]
    return min(times, default=None)
