"""One dashboard, read from top to bottom: is data flowing, how late is it, who is throttled, what
failed, what waits, what does it cost; and how the workers do, where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .consumer_alarms import Watched
from .metrics import (
    PERIOD,
    batch_metric,
    behind_latest,
    function_metric,
    iterator_age,
    mapping_metric,
    own_metric,
    queue_metric,
    stream_consumer_metric,
    stream_metric,
    worker_metric,
)

WIDTH = 24
PERCENTILES = ("p50", "p90", "p99")
SUM = "Sum"
MOST = "Maximum"
FEWEST = "Minimum"
_MAPPING_COUNTS = (
    ("FailedInvokeEventCount", "sent again"),
    ("OnFailureDestinationDeliveredEventCount", "given up, told"),
    ("DroppedEventCount", "given up, not told"),
)
_BATCH_COUNTS = (
    ("FailedRecords", "failed"),
    ("RetriedRecords", "retried"),
    ("ParkedRecords", "parked"),
    ("DroppedRecords", "dropped"),
)
_WORKER_GRAPHS = (
    (
        "records a minute",
        (
            ("RecordsRead", SUM, "read"),
            ("RecordsHandled", SUM, "handled"),
            ("RecordsParked", SUM, "parked"),
            ("RecordsDropped", SUM, "dropped"),
        ),
    ),
    (
        # What is late they do not say: lag is the age of the oldest unsettled record or how far the
        # reader is behind, and behind latest is of the last answer, which ages while reads fail.
        # The channel says it: records wait there if the handlers are slow.
        "ms: lag, behind latest, age of the checkpoint",
        (
            ("Lag", MOST, "lag"),
            ("MillisBehindLatest", MOST, "behind latest"),
            ("CheckpointAge", MOST, "age of the checkpoint"),
        ),
    ),
    (
        "what went wrong a minute",
        (
            ("HandlerFailures", SUM, "failed calls"),
            ("Retries", SUM, "retries"),
            ("Throttles", SUM, "throttled reads"),
            ("ReadErrors", SUM, "failed reads"),
            ("LeasesLost", SUM, "leases lost"),
            ("Gaps", SUM, "gaps"),
        ),
    ),
    (
        "records in the channel, keys held up",
        (("ChannelDepth", MOST, "in the channel"), ("KeysHeldUp", MOST, "keys held up")),
    ),
    ("unsettled records", (("UnsettledRecords", MOST, "unsettled"),)),
    (
        "owned shards",
        (("OwnedShards", MOST, "most of a worker"), ("OwnedShards", FEWEST, "fewest of a worker")),
    ),
)
"""A value is of one process: the maximum is that of the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A consumer on the dashboard."""

    label: str
    """Of its lines, and the dimension of its own latency metrics."""
    watched: Watched
    memory_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashed:
    """What the dashboard is about."""

    namespace: str
    service: str
    """Under which the functions write their latency metrics."""
    stream_name: str
    stream_consumer_names: Sequence[str]
    """All fan-out consumers of the stream, those without a function too."""
    consumers: Sequence[Shown]
    queue_name: str | None = None
    """The on-failure queue; ``None`` for a bucket, which has no depth by the minute."""
    worker: str | None = None
    """The application whose long-running consumers tell of themselves, if any run."""


class ConsumerDashboard(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, name: str, dashed: Dashed) -> None:
        super().__init__(scope, construct_id)
        self._dashed = dashed
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", dashboard_name=name)
        self._row("Is data flowing?", [self._incoming(), self._polled()])
        self._row("How late is it?", [*self._latencies(), self._ages(), self._behind()])
        self._row("Who is throttled?", [self._shards(), self._subscriptions(), self._functions()])
        self._row("What went wrong?", [*self._given_up(), *self._outcomes()])
        self._row("What waits?", [*self._queue(), *self._lot()])
        self._row("What does it cost?", [self._invocations(), self._gigabyte_seconds()])
        if dashed.worker is not None:
            self._row("How do the workers do?", self._workers(dashed.worker))

    def _row(self, question: str, graphs: Sequence[cloudwatch.GraphWidget]) -> None:
        if not graphs:
            return
        self.dashboard.add_widgets(
            cloudwatch.TextWidget(markdown=f"## {question}", width=WIDTH, height=1)
        )
        self.dashboard.add_widgets(*graphs)

    # --- one function a graph, in the order of the rows ------------------------------------------

    def _incoming(self) -> cloudwatch.GraphWidget:
        stream = self._dashed.stream_name
        return _graph(
            "Arriving a minute",
            [stream_metric("IncomingRecords", stream, label="records")],
            right=[stream_metric("IncomingBytes", stream, label="bytes (right)")],
        )

    def _polled(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Read a minute, records",
            [
                mapping_metric("PolledEventCount", each.watched.mapping_id, label=each.label)
                for each in self._dashed.consumers
            ],
        )

    def _latencies(self) -> list[cloudwatch.GraphWidget]:
        return [
            _graph(
                f"Arrival to receive, ms: {each.label}",
                [
                    own_metric(
                        self._dashed.namespace,
                        "ArrivalToReceive",
                        {"service": self._dashed.service, "label": each.label},
                        label=percentile,
                        statistic=percentile,
                    )
                    for percentile in PERCENTILES
                ],
            )
            for each in self._dashed.consumers
        ]

    def _ages(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Iterator age, ms",
            [
                iterator_age(each.watched.function_name, label=each.label)
                for each in self._dashed.consumers
            ],
        )

    def _behind(self) -> cloudwatch.GraphWidget:
        stream = self._dashed.stream_name
        return _graph(
            "Fan-out consumers: behind latest, ms",
            [
                behind_latest(stream, name, label=name)
                for name in self._dashed.stream_consumer_names
            ],
        )

    def _shards(self) -> cloudwatch.GraphWidget:
        stream = self._dashed.stream_name
        return _graph(
            "Shards a minute: throttled reads and writes, successful reads",
            [
                stream_metric("ReadProvisionedThroughputExceeded", stream, label="reads"),
                stream_metric("WriteProvisionedThroughputExceeded", stream, label="writes"),
            ],
            right=[stream_metric("GetRecords.Success", stream, label="successful (right)")],
        )

    def _subscriptions(self) -> cloudwatch.GraphWidget:
        stream = self._dashed.stream_name
        return _graph(
            "SubscribeToShard a minute: successful, refused",
            [
                stream_consumer_metric(
                    f"SubscribeToShard.{name}", stream, consumer, label=f"{consumer} {label}"
                )
                for consumer in self._dashed.stream_consumer_names
                for name, label in (("Success", "successful"), ("RateExceeded", "refused"))
            ],
        )

    def _functions(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Throttled invocations a minute",
            [
                function_metric("Throttles", each.watched.function_name, label=each.label)
                for each in self._dashed.consumers
            ],
        )

    def _given_up(self) -> list[cloudwatch.GraphWidget]:
        return [
            _graph(
                f"Mapping, records a minute: {each.label}",
                [
                    *(
                        mapping_metric(name, each.watched.mapping_id, label=label)
                        for name, label in _MAPPING_COUNTS
                    ),
                    function_metric(
                        "DestinationDeliveryFailures",
                        each.watched.function_name,
                        label="messages not delivered",
                    ),
                ],
            )
            for each in self._dashed.consumers
        ]

    def _outcomes(self) -> list[cloudwatch.GraphWidget]:
        return [
            _graph(
                f"Processor, records a minute: {each.label}",
                [
                    batch_metric(name, each.watched.consumer, label=label)
                    for name, label in _BATCH_COUNTS
                ],
            )
            for each in self._dashed.consumers
        ]

    def _queue(self) -> list[cloudwatch.GraphWidget]:
        queue = self._dashed.queue_name
        if queue is None:
            return []
        return [
            _graph(
                "On-failure queue: messages, and age of the oldest",
                [queue_metric("ApproximateNumberOfMessagesVisible", queue, label="messages")],
                right=[
                    queue_metric("ApproximateAgeOfOldestMessage", queue, label="age, s (right)")
                ],
            )
        ]

    def _lot(self) -> list[cloudwatch.GraphWidget]:
        parking = [each for each in self._dashed.consumers if each.watched.parks]
        if not parking:
            return []
        return [
            _graph(
                "Parking lot: keys, and age of the oldest",
                [_lot_metric("ParkedKeys", each, "keys") for each in parking],
                right=[
                    _lot_metric("OldestParkedKeyAge", each, "age, s (right)") for each in parking
                ],
            )
        ]

    def _invocations(self) -> cloudwatch.GraphWidget:
        return _graph(
            "Invocations a minute",
            [
                function_metric("Invocations", each.watched.function_name, label=each.label)
                for each in self._dashed.consumers
            ],
        )

    def _gigabyte_seconds(self) -> cloudwatch.GraphWidget:
        return _graph(
            "GB-seconds a minute",
            [
                cloudwatch.MathExpression(
                    expression=f"duration{number} / 1000 * {each.memory_mb} / 1024",
                    using_metrics={
                        f"duration{number}": function_metric(
                            "Duration", each.watched.function_name, statistic=SUM
                        )
                    },
                    label=each.label,
                    period=PERIOD,
                )
                for number, each in enumerate(self._dashed.consumers)
            ],
        )

    def _workers(self, application: str) -> list[cloudwatch.GraphWidget]:
        stream = self._dashed.stream_name
        return [
            _graph(
                f"Workers, {what}",
                [
                    worker_metric(name, stream, application, label=label, statistic=statistic)
                    for name, statistic, label in lines
                ],
            )
            for what, lines in _WORKER_GRAPHS
        ]


def _lot_metric(name: str, shown: Shown, what: str) -> cloudwatch.Metric:
    return batch_metric(name, shown.watched.consumer, label=f"{shown.label} {what}", statistic=MOST)


def _graph(
    title: str,
    left: Sequence[cloudwatch.IMetric],
    *,
    right: Sequence[cloudwatch.IMetric] = (),
) -> cloudwatch.GraphWidget:
    """A third of the dashboard wide; a fourth one wraps into a line of its own."""
    axis = cloudwatch.YAxisProps(min=0, show_units=False)
    return cloudwatch.GraphWidget(
        title=title,
        left=list(left),
        right=list(right),
        width=WIDTH // 3,
        left_y_axis=axis,
        right_y_axis=axis if right else None,
    )
