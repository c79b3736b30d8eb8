"""Dashboards and metrics by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shardlane_lab.dashboard.alarm import Alarm, parse_alarm
from shardlane_lab.dashboard.deployed import Dashboard
from shardlane_lab.dashboard.metrics import RecordedMetrics, Window
from shardlane_lab.dashboard.widget import MetricWidget, parse_widgets
from shardlane_lab.metric import Datum, MinuteStatistic, dimensions, per_minute

START_MS = 1_780_000_000_000.0
ARN = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:late"


def body(*widgets: Mapping[str, Any]) -> str:
    return json.dumps({"widgets": widgets})


def metric_widget(metrics: Sequence[Any], **properties: Any) -> dict[str, Any]:
    values = {"view": "timeSeries", "title": "A graph", "metrics": metrics, **properties}
    return {"type": "metric", "x": 0, "y": 0, "width": 12, "height": 6, "properties": values}


def parsed(metrics: Sequence[Any], **properties: Any) -> MetricWidget:
    (widget,) = parse_widgets(body(metric_widget(metrics, **properties)))
    assert isinstance(widget, MetricWidget)
    return widget


def dashboard(*widgets: Mapping[str, Any]) -> Dashboard:
    return Dashboard("by-hand", parse_widgets(body(*widgets)))


def rows(
    name: str,
    by_minute: Mapping[int, Sequence[float]],
    unit: str = "Count",
    **where: str,
) -> list[MinuteStatistic]:
    """Of the namespace ``Own``."""
    data = [
        Datum("Own", name, dimensions(**where), value, START_MS + minute * 60_000, unit)
        for minute, values in by_minute.items()
        for value in values
    ]
    return per_minute(data, START_MS)


def recorded(*metrics: Sequence[MinuteStatistic], minutes: int = 5) -> RecordedMetrics:
    together = [row for each in metrics for row in each]
    return RecordedMetrics(together, Window(start_ms=START_MS, minutes=minutes))


def alarm(**changes: Any) -> Alarm:
    """``changes`` of its properties; None leaves one out."""
    properties = {
        "MetricName": "Age",
        "Namespace": "Own",
        "Dimensions": [{"Name": "label", "Value": "x"}],
        "Statistic": "Maximum",
        "Period": 60,
        "Threshold": 100,
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 2,
        "TreatMissingData": "notBreaching",
    }
    values = {name: value for name, value in (properties | changes).items() if value is not None}
    return parse_alarm(ARN, "late", values)
