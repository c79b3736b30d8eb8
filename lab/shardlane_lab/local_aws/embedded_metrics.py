"""Metrics that a function writes into its log (source: "Embedded metric format specification",
CloudWatch User Guide). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shardlane_lab.metric import Datum, Dimensions, dimensions


@dataclass(frozen=True, slots=True)
class EmbeddedMetric:
    namespace: str
    name: str
    dimensions: Dimensions
    unit: str
    values: tuple[float, ...]
    at_ms: float


def embedded_metrics(line: str) -> list[EmbeddedMetric]:
    """Empty for a line that is no embedded metric document, and for what in one is malformed:
    the service drops it without a word."""
    if '"_aws"' not in line:
        return []
    try:
        document = json.loads(line)
    except ValueError:
        return []
    head = document.get("_aws") if isinstance(document, dict) else None
    if not isinstance(head, dict):
        return []
    at_ms = head.get("Timestamp")
    if not isinstance(at_ms, int | float):
        return []
    return [
        metric
        for directive in head.get("CloudWatchMetrics", [])
        for metric in _metrics(directive, document, float(at_ms))
    ]


def embedded_data(line: str) -> list[Datum]:
    """The same, one datum a value: for those who keep the data of a run."""
    return [
        Datum(each.namespace, each.name, each.dimensions, value, each.at_ms, each.unit)
        for each in embedded_metrics(line)
        for value in each.values
    ]


def _metrics(
    directive: Mapping[str, Any], document: Mapping[str, Any], at_ms: float
) -> Iterator[EmbeddedMetric]:
    for names in directive.get("Dimensions", [[]]):
        if not all(isinstance(document.get(name), str) for name in names):
            continue
        where = dimensions(**{name: document[name] for name in names})
        for metric in directive.get("Metrics", []):
            values = _values(document.get(metric["Name"]))
            if values:
                yield EmbeddedMetric(
                    directive["Namespace"],
                    metric["Name"],
                    where,
                    metric.get("Unit", "None"),
                    values,
                    at_ms,
                )


def _values(value: Any) -> tuple[float, ...]:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in listed):
        return ()
    return tuple(float(each) for each in listed)
