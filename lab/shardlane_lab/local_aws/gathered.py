"""What is to be published, gathered between two publications. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shardlane_lab.local_aws.embedded_metrics import EmbeddedMetric, embedded_metrics
from shardlane_lab.metric import Datum, Dimensions

KEPT_LINES = 50_000
"""Of one function between two publications, the newest: a log must not fill the memory when the
service is slow."""
VALUES_A_DATUM = 150
"""Quota of ``PutMetricData``."""

_Key = tuple[str, str, Dimensions, str]


@dataclass(frozen=True, slots=True)
class LogLine:
    at_ms: float
    text: str


@dataclass(slots=True)
class _Statistic:
    at_ms: float
    values: list[float] = field(default_factory=list)


class Gathered:
    """Lines by function, service metrics as statistics, embedded metrics with their values."""

    def __init__(self) -> None:
        self.lines: dict[str, deque[LogLine]] = {}
        self._statistics: dict[_Key, _Statistic] = {}
        self._embedded: list[EmbeddedMetric] = []

    def log(self, function_name: str, line: str, at_ms: float) -> None:
        lines = self.lines.setdefault(function_name, deque(maxlen=KEPT_LINES))
        lines.append(LogLine(at_ms, line))
        self._embedded += embedded_metrics(line)

    def observe(self, datum: Datum) -> None:
        key = (datum.namespace, datum.name, datum.dimensions, datum.unit)
        self._statistics.setdefault(key, _Statistic(datum.at_ms)).values.append(datum.value)

    def metric_data(self) -> dict[str, list[dict[str, Any]]]:
        """Entries for ``PutMetricData`` by namespace."""
        entries: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for (namespace, name, where, unit), statistic in self._statistics.items():
            summed = _summary(statistic.values)
            entry = _entry(name, where, unit, statistic.at_ms) | {"StatisticValues": summed}
            entries[namespace].append(entry)
        for metric in self._embedded:
            entries[metric.namespace] += _with_values(metric)
        return dict(entries)


def _summary(values: list[float]) -> dict[str, float]:
    return {
        "SampleCount": float(len(values)),
        "Sum": sum(values),
        "Minimum": min(values),
        "Maximum": max(values),
    }


def _with_values(metric: EmbeddedMetric) -> Iterator[dict[str, Any]]:
    entry = _entry(metric.name, metric.dimensions, metric.unit, metric.at_ms)
    for start in range(0, len(metric.values), VALUES_A_DATUM):
        yield entry | {"Values": list(metric.values[start : start + VALUES_A_DATUM])}


def _entry(name: str, where: Dimensions, unit: str, at_ms: float) -> dict[str, Any]:
    return {
        "MetricName": name,
        "Dimensions": [{"Name": key, "Value": value} for key, value in where],
        "Unit": unit,
        "Timestamp": at_ms / 1000.0,
    }
