"""What CloudWatch counted of a mapping, its function and its stream: facts and the queries for
them (source: "Types of metrics for Lambda functions", Lambda developer guide; "Monitoring the
Amazon Kinesis Data Streams service with Amazon CloudWatch", Kinesis developer guide)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from shardlane.operations.mapping import Mapping

PERIOD_S = 60
"""The finest period of the services' own metrics."""


class Point(NamedTuple):
    """One period's value; ``at_ms`` is the period's start in epoch milliseconds."""

    at_ms: int
    value: float


Series = tuple[Point, ...]
"""In order of time; periods without data are not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One series a metric, empty where there is nothing. Ages in milliseconds, the others are
    counts."""

    ages: Series = ()
    invocations: Series = ()
    errors: Series = ()
    throttles: Series = ()
    undelivered: Series = ()
    polls: Series = ()
    """How often the mapping asked for records, empty answers too."""
    failed: Series = ()
    dropped: Series = ()
    delivered: Series = ()
    incoming: Series = ()
    read_throttles: Series = ()
    behind: Series = ()
    """``MillisBehindLatest`` of the mapping's consumer, with enhanced fan-out."""


def total(series: Series) -> float:
    return sum(point.value for point in series)


class _Metric(NamedTuple):
    field: str
    namespace: str
    name: str
    stat: str
    of: Literal["function", "mapping", "stream", "consumer"]


_METRICS = (
    _Metric("ages", "AWS/Lambda", "IteratorAge", "Maximum", "function"),
    _Metric("invocations", "AWS/Lambda", "Invocations", "Sum", "function"),
    _Metric("errors", "AWS/Lambda", "Errors", "Sum", "function"),
    _Metric("throttles", "AWS/Lambda", "Throttles", "Sum", "function"),
    _Metric("undelivered", "AWS/Lambda", "DestinationDeliveryFailures", "Sum", "function"),
    _Metric("polls", "AWS/Lambda", "PolledEventCount", "SampleCount", "mapping"),
    _Metric("failed", "AWS/Lambda", "FailedInvokeEventCount", "Sum", "mapping"),
    _Metric("dropped", "AWS/Lambda", "DroppedEventCount", "Sum", "mapping"),
    _Metric("delivered", "AWS/Lambda", "OnFailureDestinationDeliveredEventCount", "Sum", "mapping"),
    _Metric("incoming", "AWS/Kinesis", "IncomingRecords", "Sum", "stream"),
    _Metric("read_throttles", "AWS/Kinesis", "ReadProvisionedThroughputExceeded", "Sum", "stream"),
    _Metric(
        "behind",
        "AWS/Kinesis",
        "SubscribeToShardEvent.MillisBehindLatest",
        "Maximum",
        "consumer",
    ),
)


def queries(mapping: Mapping, prefix: str) -> list[dict[str, Any]]:
    """Entries of ``MetricDataQueries`` for ``GetMetricData``; ids start with ``prefix``."""
    return [
        {
            "Id": f"{prefix}_{metric.field}",
            "MetricStat": {
                "Metric": {
                    "Namespace": metric.namespace,
                    "MetricName": metric.name,
                    "Dimensions": dimensions,
                },
                "Period": PERIOD_S,
                "Stat": metric.stat,
            },
        }
        for metric in _METRICS
        if (dimensions := _dimensions(metric, mapping)) is not None
    ]


def activity(results: Iterable[tuple[str, Sequence[Point]]], prefix: str) -> Activity:
    """From the ids and points of the answers; ids of other prefixes are left alone."""
    found: dict[str, Series] = {each.name: () for each in fields(Activity)}
    for id_, points in results:
        name = id_.removeprefix(f"{prefix}_")
        if id_ != name and name in found:
            found[name] = (*found[name], *points)
    return Activity(**{name: tuple(sorted(points)) for name, points in found.items()})


def _dimensions(metric: _Metric, mapping: Mapping) -> list[dict[str, str]] | None:
    match metric.of:
        case "function":
            name, _, _ = mapping.function.partition(":")
            return [{"Name": "FunctionName", "Value": name}]
        case "mapping":
            if not mapping.event_counts:
                return None
            return [{"Name": "EventSourceMappingUUID", "Value": mapping.uuid}]
        case "stream":
            return [{"Name": "StreamName", "Value": mapping.stream}]
        case "consumer":
            if mapping.consumer is None:
                return None
            return [
                {"Name": "StreamName", "Value": mapping.stream},
                {"Name": "ConsumerName", "Value": mapping.consumer},
            ]
