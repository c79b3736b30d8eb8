"""The dashboard's row about the workers: each line is of what the deployed command writes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import fields, replace

import pytest

from shardlane.cli.consume_setup import sink_of
from shardlane.consumer.counters import Counters
from shardlane.consumer.stats import Stats
from shardlane_lab.dashboard.deployed import read_deployed
from shardlane_lab.dashboard.drawn import drawn_series
from shardlane_lab.dashboard.metrics import RecordedMetrics, Window
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.dashboard.widget import MetricWidget, TextWidget, Widget
from shardlane_lab.local_aws.embedded_metrics import embedded_data
from shardlane_lab.metric import Datum, per_minute
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import OTHERWISE, Synthesized
from tests.infra.worker import HELD, SHARD, WELL, command

START_MS = 1_780_000_020_000.0
NOT_SHOWN = {"BytesRead", "LeasesTaken", "Checkpoints"}
BUSY = Stats(
    counters=Counters(**{each.name: 7 for each in fields(Counters)}),
    shards=(replace(SHARD, behind_ms=1, unsettled=1, checkpoint_age_ms=1.0),),
    channel_depth=1,
    keys_aside=1,
    held=(HELD,),
)
"""Nothing of it is 0."""


def told(assembly: CloudAssembly, *reports: Stats) -> list[Datum]:
    """What CloudWatch gets of a process with the deployed command, a report a minute."""
    sink = sink_of(command(assembly))
    assert sink is not None
    with redirect_stdout(io.StringIO()) as log:
        for minute, stats in enumerate(reports):
            sink.take(stats, START_MS + minute * 60_000)
    return [datum for line in log.getvalue().splitlines() for datum in embedded_data(line)]


def widgets_of(assembly: CloudAssembly) -> tuple[Widget, ...]:
    return read_deployed(assembly.folder).dashboard().widgets


@pytest.fixture(scope="module")
def without(synthesized: Synthesized) -> tuple[Widget, ...]:
    """The dashboard of the same stage without a worker."""
    return widgets_of(synthesized(OTHERWISE | {"worker": {}}))


@pytest.fixture(scope="module")
def row(otherwise: CloudAssembly, without: tuple[Widget, ...]) -> tuple[Widget, ...]:
    """What the worker adds."""
    return tuple(each for each in widgets_of(otherwise) if each not in without)


def graphs(row: Iterable[Widget]) -> list[MetricWidget]:
    return [each for each in row if isinstance(each, MetricWidget)]


def metrics(row: Iterable[Widget]) -> list[Metric]:
    found = [series.source for graph in graphs(row) for series in graph.series]
    assert all(isinstance(each, Metric) for each in found)
    return [each for each in found if isinstance(each, Metric)]


def test_the_row_is_the_last_and_changes_nothing_above_it(
    otherwise: CloudAssembly, row: tuple[Widget, ...], without: tuple[Widget, ...]
) -> None:
    assert widgets_of(otherwise) == (*without, *row)
    assert isinstance(row[0], TextWidget)
    assert len(graphs(row)) == len(row) - 1
    assert min(each.place.y for each in row) > max(each.place.y for each in without)


def test_every_line_is_of_a_metric_that_the_deployed_command_writes(
    otherwise: CloudAssembly, row: tuple[Widget, ...]
) -> None:
    written = {(each.namespace, each.name, each.dimensions) for each in told(otherwise, WELL)}
    shown = {(each.namespace, each.name, each.dimensions) for each in metrics(row)}
    assert shown - written == set()
    assert {name for _, name, _ in written - shown} == NOT_SHOWN


def test_what_is_counted_since_the_line_before_is_added_up_and_nothing_else(
    otherwise: CloudAssembly, row: tuple[Widget, ...]
) -> None:
    """Of two equal reports the second has counted nothing."""
    data = told(otherwise, BUSY, BUSY)
    assert all(each.value for each in data if each.at_ms == START_MS)
    counted = {each.name for each in data if each.value == 0}
    assert {each.name for each in metrics(row) if each.stat == "Sum"} == counted - NOT_SHOWN


def test_every_line_has_data_and_the_shards_show_who_has_none(
    otherwise: CloudAssembly, row: tuple[Widget, ...]
) -> None:
    data = [*told(otherwise, BUSY), *told(otherwise, replace(WELL, shards=()))]
    recorded = RecordedMetrics(per_minute(data, START_MS), Window(start_ms=START_MS, minutes=1))
    drawn = [each for graph in graphs(row) for each in drawn_series(graph.series, recorded)]
    assert [each.what for each in drawn if each.problem or not each.points] == []
    owned = {each.stat: each.last for each in drawn if "OwnedShards" in each.what}
    assert owned == {"Maximum": 1, "Minimum": 0}
