"""One dashboard: how late is each consumer, and what slows it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.constructs.metrics import (
    iterator_age,
    mapping_metric,
    own_metric,
    stream_consumer_metric,
    stream_metric,
)

WIDTH = 12
"""Half of the dashboard's 24 columns."""
PERCENTILES = ("p50", "p90", "p99")
EVENT_COUNTS = (
    "PolledEventCount",
    "FailedInvokeEventCount",
    "DroppedEventCount",
    "OnFailureDestinationDeliveredEventCount",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFunction:
    """A function, and where its metrics are found."""

    label: str
    function_name: str
    mapping_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedStream:
    stream_name: str
    consumer_names: Sequence[str]
    """Its enhanced fan-out consumers."""


class LatencyDashboard(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        namespace: str,
        service: str,
        functions: Sequence[WatchedFunction],
        stream: WatchedStream,
    ) -> None:
        """``namespace`` and ``service`` are those under which the functions write their metrics."""
        super().__init__(scope, construct_id)
        self._namespace = namespace
        self._service = service
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        self.dashboard.add_widgets(*(self._latency(each) for each in functions))
        self.dashboard.add_widgets(_ages(functions), _fan_out_lag(stream))
        self.dashboard.add_widgets(_reads(stream), _subscriptions(stream))
        self.dashboard.add_widgets(*(_events(each) for each in functions))

    def _latency(self, function: WatchedFunction) -> cloudwatch.GraphWidget:
        dimensions = {"service": self._service, "label": function.label}
        return _graph(
            f"Arrival to receive, ms: {function.label}",
            [
                own_metric(
                    self._namespace,
                    "ArrivalToReceive",
                    dimensions,
                    label=percentile,
                    statistic=percentile,
                )
                for percentile in PERCENTILES
            ],
        )


def _ages(functions: Sequence[WatchedFunction]) -> cloudwatch.GraphWidget:
    return _graph(
        "Iterator age, ms",
        [iterator_age(each.function_name, label=each.label) for each in functions],
    )


def _fan_out_lag(stream: WatchedStream) -> cloudwatch.GraphWidget:
    return _graph(
        "Fan-out consumers: behind latest, ms",
        [
            stream_consumer_metric(
                "SubscribeToShardEvent.MillisBehindLatest",
                stream.stream_name,
                consumer,
                label=consumer,
                statistic="Maximum",
            )
            for consumer in stream.consumer_names
        ],
    )


def _reads(stream: WatchedStream) -> cloudwatch.GraphWidget:
    return _graph(
        "GetRecords a minute: successful, throttled",
        [
            stream_metric("GetRecords.Success", stream.stream_name, label="successful"),
            stream_metric(
                "ReadProvisionedThroughputExceeded", stream.stream_name, label="throttled"
            ),
        ],
    )


def _subscriptions(stream: WatchedStream) -> cloudwatch.GraphWidget:
    return _graph(
        "SubscribeToShard a minute: successful, refused",
        [
            stream_consumer_metric(
                f"SubscribeToShard.{name}",
                stream.stream_name,
                consumer,
                label=f"{consumer} {label}",
            )
            for consumer in stream.consumer_names
            for name, label in (("Success", "successful"), ("RateExceeded", "refused"))
        ],
    )


def _events(function: WatchedFunction) -> cloudwatch.GraphWidget:
    return _graph(
        f"Records a minute: {function.label}",
        [mapping_metric(name, function.mapping_id, label=name) for name in EVENT_COUNTS],
    )


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=list(metrics),
        width=WIDTH,
        left_y_axis=cloudwatch.YAxisProps(min=0, show_units=False),
    )
