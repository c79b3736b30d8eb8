"""A run with what its plots need, worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shardlane_lab.gauge import Gauge
from shardlane_lab.report.delivery import deliveries
from shardlane_lab.report.gauge_summary import gauges_by_label
from shardlane_lab.report.palette import Stroke, strokes
from shardlane_lab.report.plot.dots import Dot
from shardlane_lab.report.plot.scale import Span, latency_span
from shardlane_lab.report.summary import Summary, samples_by_label
from shardlane_lab.run_record import Run
from shardlane_lab.sample import Sample


@dataclass(frozen=True)
class PlottedRun:
    """A run with what its plots need."""

    number: int
    title: str
    run: Run
    summary: Summary

    @cached_property
    def samples(self) -> Mapping[str, Sequence[Sample]]:
        """First deliveries by label, in the order of receipt."""
        by_label = samples_by_label(self.run.samples)
        labels = [consumer.label for consumer in self.summary.consumers]
        return {label: deliveries(by_label.get(label, ())).first for label in labels}

    @cached_property
    def latencies_ms(self) -> Mapping[str, Sequence[float]]:
        """Ascending, by label."""
        return {
            label: sorted(sample.arrival_to_receive_ms for sample in samples)
            for label, samples in self.samples.items()
        }

    @cached_property
    def gauges(self) -> Mapping[str, Sequence[Gauge]]:
        """By label, in the order of time."""
        return gauges_by_label(self.run)

    @cached_property
    def strokes(self) -> Mapping[str, Stroke]:
        return strokes(self.summary.record.consumers)

    def dots(self, label: str) -> list[Dot]:
        """Every first delivery of a consumer, by its arrival."""
        start_ms = self.summary.record.started_ms
        return [
            ((sample.arrival_ms - start_ms) / 1000, sample.arrival_to_receive_ms)
            for sample in self.samples[label]
        ]


def common_span(runs: Sequence[PlottedRun]) -> Span:
    """One latency axis for all runs."""
    return latency_span(_all_latencies(runs))


def _all_latencies(runs: Sequence[PlottedRun]) -> Iterable[float]:
    """With the published percentiles, which stand on the same axis."""
    for each in runs:
        for label, values in each.latencies_ms.items():
            yield from values
            if each.summary.published:
                beside = each.summary.published.arrival_to_receive.get(label, {})
                yield from (value for name, value in beside.items() if name != "max")
