"""The metrics of a run under the names that the dashboard's template gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from shardlane_lab.dashboard.metrics import RecordedMetrics, window_of
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.metric import Datum, MinuteStatistic, per_minute
from shardlane_lab.run_record import Run
from shardlane_lab.sample import Sample

MAPPING = "EventSourceMappingUUID"
ARRIVAL_TO_RECEIVE = "ArrivalToReceive"
"""What a function writes for each of its samples; runs without a real function, as those in
virtual time, have the samples alone."""


def run_metrics(
    run: Run, wanted: Iterable[Metric], mapping_of_function: Mapping[str, str]
) -> RecordedMetrics:
    """``wanted`` are the dashboard's; ``mapping_of_function`` has the template's mapping UUIDs by
    the name of the function."""
    same = {
        each.mapping_uuid: mapping_of_function[each.function or ""]
        for each in run.record.consumers
        if each.mapping_uuid and each.function in mapping_of_function
    }
    rows = [_renamed(row, same) for row in run.statistics]
    there = {(row.namespace, row.name, row.dimensions) for row in rows}
    lacking = [each for each in wanted if (each.namespace, each.name, each.dimensions) not in there]
    rows += per_minute(_from_samples(run.samples, lacking), run.record.started_ms)
    return RecordedMetrics(rows, window_of(rows, run.record.started_ms, run.record.seconds))


def _renamed(row: MinuteStatistic, same: Mapping[str, str]) -> MinuteStatistic:
    """A mapping has another UUID in every account, and in virtual time."""
    where = dict(row.dimensions)
    if where.get(MAPPING) not in same:
        return row
    where[MAPPING] = same[where[MAPPING]]
    return replace(row, dimensions=tuple(sorted(where.items())))


def _from_samples(samples: Iterable[Sample], lacking: Iterable[Metric]) -> Iterator[Datum]:
    by_label = {
        dict(each.dimensions).get("label"): each
        for each in lacking
        if each.name == ARRIVAL_TO_RECEIVE
    }
    for sample in samples:
        metric = by_label.get(sample.label)
        if metric is not None:
            yield Datum(
                metric.namespace,
                metric.name,
                metric.dimensions,
                sample.arrival_to_receive_ms,
                sample.recv_ms,
                "Milliseconds",
            )
