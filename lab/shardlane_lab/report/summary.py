"""A run in figures: pure values that text, JSON and HTML lay out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.percentile import Distribution, distribution
from shardlane_lab.published import NOTHING_PUBLISHED, PublishedRound, published_round
from shardlane_lab.report.clock import ClockCheck, clock_checks
from shardlane_lab.report.consumer_summary import ConsumerSummary, summarise_consumer
from shardlane_lab.report.delivery import deliveries
from shardlane_lab.report.gauge_summary import GaugeSummary, gauge_summaries
from shardlane_lab.report.minutes import Minutes, minutes
from shardlane_lab.report.send_summary import SendSummary, summarise_send
from shardlane_lab.report.subscription import Subscription, subscriptions
from shardlane_lab.run_record import Kind, Run, RunRecord
from shardlane_lab.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    record: RunRecord
    published: PublishedRound | None
    """The round that the run reproduces, if it reproduces one."""
    consumers: tuple[ConsumerSummary, ...]
    """In the order of the run record."""
    pooled: Mapping[Kind, Distribution]
    """Arrival to receive, all consumers of a kind together; kinds without samples are left
    out."""
    shards: int
    """Shards that samples came from; 0 when no sample names one."""
    send: SendSummary
    minutes: Minutes | None
    """None when the run has no metrics."""
    subscriptions: tuple[Subscription, ...]
    gauges: tuple[GaugeSummary, ...]
    """Of the consumers that say how they do: the library's long-running ones."""
    clocks: tuple[ClockCheck, ...]
    strangers: Mapping[str, int]
    """Samples under labels that the run record does not name, which no figure counts."""

    def of_kind(self, kind: Kind) -> tuple[ConsumerSummary, ...]:
        return tuple(consumer for consumer in self.consumers if consumer.kind == kind)


def summarise(run: Run) -> Summary:
    """Raises ``ValueError`` if the run names a published round that does not exist."""
    record = run.record
    round_ = published_round(record.published_round) if record.published_round else None
    published = round_ or NOTHING_PUBLISHED
    by_label = samples_by_label(run.samples)
    labels = [consumer.label for consumer in record.consumers]
    known = {label: by_label.get(label, []) for label in labels}
    own = [sample for samples in known.values() for sample in samples]
    return Summary(
        record=record,
        published=round_,
        consumers=tuple(
            summarise_consumer(record, consumer, known[consumer.label], published)
            for consumer in record.consumers
        ),
        pooled=_pooled(record, known),
        shards=len({sample.shard_id for sample in own} - {None}),
        send=summarise_send(record, own, published),
        minutes=minutes(run, published),
        subscriptions=subscriptions(run, published),
        gauges=gauge_summaries(run),
        clocks=clock_checks(record, known),
        strangers={
            label: len(samples) for label, samples in by_label.items() if label not in known
        },
    )


def samples_by_label(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    groups: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.label].append(sample)
    return dict(groups)


def _pooled(
    record: RunRecord, samples: Mapping[str, Sequence[Sample]]
) -> Mapping[Kind, Distribution]:
    latencies: defaultdict[Kind, list[float]] = defaultdict(list)
    for consumer in record.consumers:
        first = deliveries(samples[consumer.label]).first
        latencies[consumer.kind] += [sample.arrival_to_receive_ms for sample in first]
    pooled = {kind: distribution(values) for kind, values in latencies.items()}
    return {kind: values for kind, values in pooled.items() if values is not None}
