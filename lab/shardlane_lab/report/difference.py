"""How medians differ between runs that are reported together. Milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardlane_lab.report.summary import Summary
from shardlane_lab.run_record import Kind


@dataclass(frozen=True, slots=True)
class Median:
    p50_ms: float
    interval_ms: tuple[float, float]
    """Where it lies with 95 % confidence."""


def overlap(one: Median, other: Median) -> bool:
    """Whether two medians may be the same, as far as so many records can tell."""
    return one.interval_ms[0] <= other.interval_ms[1] and other.interval_ms[0] <= one.interval_ms[1]


@dataclass(frozen=True, slots=True)
class MedianDifference:
    """One consumer label, or all consumers of a kind whose labels differ between the runs."""

    name: str
    medians: tuple[Median | None, ...]
    """Arrival to receive, one a run; None where the run has no such consumer."""

    @property
    def runs(self) -> int:
        """How many runs have a median."""
        return len(self.medians) - self.medians.count(None)

    @property
    def medians_ms(self) -> tuple[float | None, ...]:
        return tuple(median.p50_ms if median else None for median in self.medians)

    @property
    def clear(self) -> tuple[bool | None, ...]:
        """Each later run against the first: whether their intervals leave no overlap."""
        first = self.medians[0]
        return tuple(
            None if first is None or each is None else not overlap(first, each)
            for each in self.medians[1:]
        )

    @property
    def from_first_ms(self) -> tuple[float | None, ...]:
        """Each later run less the first."""
        first = self.medians_ms[0]
        return tuple(
            None if first is None or each is None else each - first for each in self.medians_ms[1:]
        )

    @property
    def ratios_to_first(self) -> tuple[float | None, ...]:
        first = self.medians_ms[0]
        return tuple(
            None if not first or each is None else each / first for each in self.medians_ms[1:]
        )


def median_differences(summaries: Sequence[Summary]) -> tuple[MedianDifference, ...]:
    """Nothing for a single run. Labels come in the order in which the runs name them, then the
    kinds whose consumers are called differently in different runs."""
    if len(summaries) < 2:
        return ()
    consumers = [consumer for summary in summaries for consumer in summary.consumers]
    kinds = {consumer.label: consumer.kind for consumer in consumers}
    pooled = [
        kind for kind in dict.fromkeys(kinds.values()) if _called_differently(summaries, kind)
    ]
    by_label = (
        MedianDifference(label, tuple(_of_label(summary, label) for summary in summaries))
        for label in kinds
    )
    by_kind = (
        MedianDifference(f"all {kind}", tuple(of_kind(summary, kind) for summary in summaries))
        for kind in pooled
    )
    compared = (row for row in by_label if row.runs > 1 or kinds[row.name] not in pooled)
    return (*compared, *by_kind)


def _called_differently(summaries: Sequence[Summary], kind: Kind) -> bool:
    """Whether the runs that have the kind disagree about its labels."""
    labels = {tuple(each.label for each in summary.of_kind(kind)) for summary in summaries}
    return len(labels - {()}) > 1


def _of_label(summary: Summary, label: str) -> Median | None:
    for consumer in summary.consumers:
        p50_ms = consumer.latency["p50"].value
        if consumer.label == label and p50_ms is not None and consumer.p50_interval_ms:
            return Median(p50_ms, consumer.p50_interval_ms)
    return None


def of_kind(summary: Summary, kind: Kind) -> Median | None:
    """Over all consumers of the kind together."""
    values = summary.pooled.get(kind)
    return Median(values.p50, values.p50_interval) if values else None
