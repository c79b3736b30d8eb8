"""The metrics of a running local stack, from its CloudWatch and its CloudWatch Logs.

The local CloudWatch knows no percentiles, so the values of metrics that functions write into their
logs come from there, as they do on AWS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.dashboard.metrics import RecordedMetrics, Window
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.local_aws.embedded_metrics import embedded_data
from shardlane_lab.metric import Datum, MinuteStatistic, per_minute

Client = Callable[[str], Any]
"""The client of a service by its name."""

_STATISTICS = ["Sum", "SampleCount", "Minimum", "Maximum"]


def local_metrics(
    metrics: Iterable[Metric], client: Client, *, now_ms: float, minutes: int
) -> RecordedMetrics:
    """At most the last ``minutes`` whole minutes before ``now_ms`` and the one under way; from a
    minute before the first data on."""
    start_ms = (now_ms // 60_000 - minutes) * 60_000
    embedded = per_minute(_embedded(client("logs"), start_ms), start_ms)
    known = {(row.namespace, row.name, row.dimensions) for row in embedded}
    wanted = {(each.namespace, each.name, each.dimensions): each for each in metrics}
    cloudwatch = client("cloudwatch")
    rows = [
        row
        for key, metric in wanted.items()
        if key not in known
        for row in _rows(cloudwatch, metric, start_ms, now_ms)
    ]
    return _from_first([*embedded, *rows], start_ms, minutes + 1)


def _from_first(rows: list[MinuteStatistic], start_ms: float, minutes: int) -> RecordedMetrics:
    first = max(0, min((row.minute for row in rows), default=0) - 1)
    later = [replace(row, minute=row.minute - first) for row in rows]
    window = Window(start_ms=start_ms + first * 60_000, minutes=minutes - first)
    return RecordedMetrics(later, window)


def _embedded(logs: Any, start_ms: float) -> Iterator[Datum]:
    for page in logs.get_paginator("describe_log_groups").paginate():
        for group in page["logGroups"]:
            events = logs.get_paginator("filter_log_events").paginate(
                logGroupName=group["logGroupName"], startTime=int(start_ms)
            )
            for answer in events:
                for event in answer["events"]:
                    yield from embedded_data(event["message"])


def _rows(
    cloudwatch: Any, metric: Metric, start_ms: float, now_ms: float
) -> Iterator[MinuteStatistic]:
    answer = cloudwatch.get_metric_statistics(
        Namespace=metric.namespace,
        MetricName=metric.name,
        Dimensions=[{"Name": name, "Value": value} for name, value in metric.dimensions],
        StartTime=datetime.fromtimestamp(start_ms / 1000, UTC),
        EndTime=datetime.fromtimestamp(now_ms / 1000 + 60, UTC),
        Period=60,
        Statistics=_STATISTICS,
    )
    for point in sorted(answer["Datapoints"], key=lambda each: each["Timestamp"]):
        yield MinuteStatistic(
            metric.namespace,
            metric.name,
            metric.dimensions,
            int((point["Timestamp"].timestamp() * 1000 - start_ms) // 60_000),
            point["Sum"],
            int(point["SampleCount"]),
            point["Minimum"],
            point["Maximum"],
            unit=point.get("Unit", ""),
        )
