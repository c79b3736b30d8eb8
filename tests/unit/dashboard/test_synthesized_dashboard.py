"""The dashboard that the app deploys: drawn with all that it asks for, and with recorded runs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab import experiment_file
from shardlane_lab.cli.run import run_simulated
from shardlane_lab.dashboard.deployed import Deployed, read_deployed
from shardlane_lab.dashboard.drawn import drawn_series
from shardlane_lab.dashboard.local_metrics import local_metrics
from shardlane_lab.dashboard.metrics import RecordedMetrics, Window
from shardlane_lab.dashboard.page import dashboard_page
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.dashboard.statistic import points
from shardlane_lab.dashboard.widget import MetricWidget, OtherWidget
from shardlane_lab.dashboard.write import metrics_of_run, wanted_metrics
from shardlane_lab.local_aws.cloudwatch_feed import CloudWatchFeed
from shardlane_lab.local_aws.services import LocalAws
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.metric import Datum, per_minute
from shardlane_lab.run_record import read_run

START_MS = 1_780_000_000_000.0
MINUTES = 4


@pytest.fixture(scope="module")
def deployed(assembly: Path) -> Deployed:
    return read_deployed(assembly)


@pytest.fixture(scope="module")
def everything(assembly: Path) -> RecordedMetrics:
    """Three values a minute for every metric that the dashboard asks for."""
    data = [
        Datum(each.namespace, each.name, each.dimensions, value, START_MS + minute * 60_000)
        for each in wanted_metrics(assembly)
        for minute in range(MINUTES)
        for value in (1.0, 2.0, 4.0 + minute)
    ]
    return RecordedMetrics(per_minute(data, START_MS), Window(start_ms=START_MS, minutes=MINUTES))


def metric_widgets(deployed: Deployed) -> Iterator[MetricWidget]:
    for widget in deployed.dashboard().widgets:
        if isinstance(widget, MetricWidget):
            yield widget


def test_every_widget_shows_data_when_there_is_some(
    deployed: Deployed, everything: RecordedMetrics
) -> None:
    widgets = list(metric_widgets(deployed))
    assert widgets
    for widget in widgets:
        for each in drawn_series(widget.series, everything):
            assert each.problem is None, f"{widget.title}: {each.problem}"
            assert list(each.points) == list(range(MINUTES)), f"{widget.title}: {each.what}"


def test_nothing_of_the_dashboard_has_no_drawing(
    deployed: Deployed, everything: RecordedMetrics
) -> None:
    dashboard = deployed.dashboard()
    assert not [each for each in dashboard.widgets if isinstance(each, OtherWidget)]
    page = dashboard_page(dashboard, deployed.alarms, everything, source="a test")
    assert "not drawn" not in page
    assert "no data" not in page
    assert "none without data" in page
    for widget in metric_widgets(deployed):
        assert widget.title in page


@pytest.fixture(scope="module")
def recorded(assembly: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "run"
    chosen = experiment_file.load(experiment_file.find("round-1"))
    assert run_simulated(folder, chosen.shortened(70.0), "H0")
    return folder


def test_each_widget_of_a_recorded_run_shows_what_the_run_has(
    assembly: Path, deployed: Deployed, recorded: Path
) -> None:
    metrics = metrics_of_run(assembly, recorded)
    has = {(row.namespace, row.name, row.dimensions) for row in metrics.rows}
    shown = {}
    for widget in metric_widgets(deployed):
        drawn = drawn_series(widget.series, metrics)
        for each in drawn:
            source = each.series.source
            if isinstance(source, Metric):
                there = (source.namespace, source.name, source.dimensions) in has
                assert bool(each.points) is there, f"{widget.title}: {each.what}"
        shown[widget.title] = any(each.points for each in drawn)
    lateness = [title for title in shown if title.startswith(("Arrival", "Iterator", "Fan-out"))]
    assert len(lateness) >= 4
    assert all(shown[title] for title in lateness), shown
    mappings = [each.mapping_uuid for each in read_run(recorded).record.consumers]
    assert sum(uuid is not None for uuid in mappings) == 2
    polled = {row.dimensions for row in metrics.rows if row.name == "PolledEventCount"}
    assert polled == {
        (("EventSourceMappingUUID", each.uuid),) for each in read_assembly(assembly).mappings
    }


EMBEDDED: dict[str, Any] = {
    "_aws": {
        "CloudWatchMetrics": [
            {
                "Namespace": "Own",
                "Dimensions": [["label"]],
                "Metrics": [{"Name": "Latency", "Unit": "Milliseconds"}],
            }
        ],
    },
    "label": "x",
    "Latency": [10, 20, 30, 1000],
}


def own(name: str, stat: str) -> Metric:
    return Metric(namespace="Own", name=name, dimensions=(("label", "x"),), stat=stat, period_s=60)


@pytest.mark.slow("starts the local AWS services in a process of their own")
def test_the_metrics_of_a_running_stack_come_with_their_percentiles() -> None:
    now_ms = time.time_ns() / 1e6
    line = json.dumps(EMBEDDED | {"_aws": EMBEDDED["_aws"] | {"Timestamp": int(now_ms)}})
    counted = [Datum("Own", "Count", (("label", "x"),), value, now_ms) for value in (1.0, 2.0)]

    async def published() -> RecordedMetrics:
        aws = LocalAws("us-east-1")
        await aws.start()
        try:
            feed = CloudWatchFeed(aws.client, {"f": ("/aws/lambda/f", "s")}, lambda: now_ms)
            feed.log("f", line)
            for datum in counted:
                feed.observe(datum)
            await feed.publish()
            wanted = [own("Latency", "p99"), own("Count", "Sum"), own("Nothing", "Sum")]
            return await asyncio.to_thread(
                local_metrics, wanted, aws.client, now_ms=now_ms, minutes=3
            )
        finally:
            await aws.stop()

    metrics = asyncio.run(published())
    assert metrics.window.minutes == 2  # from the minute before the first data
    assert metrics.window.start_ms == (now_ms // 60_000 - 1) * 60_000
    assert points(own("Latency", "p50"), metrics.of(own("Latency", "p50"))) == {1: 20.0}
    assert points(own("Latency", "p99"), metrics.of(own("Latency", "p99"))) == {1: 1000.0}
    assert points(own("Count", "Sum"), metrics.of(own("Count", "Sum"))) == {1: 3.0}
    assert metrics.of(own("Nothing", "Sum")) == ()
