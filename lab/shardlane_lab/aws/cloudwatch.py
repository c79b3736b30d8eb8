"""The service metrics of a run's minutes, from CloudWatch, as the rows that a local run writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.aws.errors import explained
from shardlane_lab.metric import Dimensions, MinuteStatistic, dimensions
from shardlane_lab.run_record import ConsumerRecord

PERIOD_S = 60
STATISTICS = ("Sum", "SampleCount", "Minimum", "Maximum")
QUERIES_PER_CALL = 500
"""GetMetricData, quotas."""

_KINESIS, _LAMBDA = "AWS/Kinesis", "AWS/Lambda"
_OF_STREAM = (
    "IncomingBytes",
    "IncomingRecords",
    "GetRecords.Bytes",
    "GetRecords.IteratorAgeMilliseconds",
    "GetRecords.Latency",
    "GetRecords.Records",
    "GetRecords.Success",
    "PutRecord.Bytes",
    "PutRecord.Latency",
    "PutRecord.Success",
    "ReadProvisionedThroughputExceeded",
    "WriteProvisionedThroughputExceeded",
)
_OF_CONSUMER = (
    "SubscribeToShard.RateExceeded",
    "SubscribeToShard.Success",
    "SubscribeToShardEvent.Bytes",
    "SubscribeToShardEvent.MillisBehindLatest",
    "SubscribeToShardEvent.Records",
    "SubscribeToShardEvent.Success",
)
_OF_FUNCTION = (
    "DestinationDeliveryFailures",
    "Duration",
    "Errors",
    "Invocations",
    "IteratorAge",
    "Throttles",
)
_OF_MAPPING = (
    "DroppedEventCount",
    "FailedInvokeEventCount",
    "FilteredOutEventCount",
    "InvokedEventCount",
    "OnFailureDestinationDeliveredEventCount",
    "PolledEventCount",
)
_UNITS = {
    "Duration": "Milliseconds",
    "IteratorAge": "Milliseconds",
    "GetRecords.Latency": "Milliseconds",
    "GetRecords.IteratorAgeMilliseconds": "Milliseconds",
    "PutRecord.Latency": "Milliseconds",
    "SubscribeToShardEvent.MillisBehindLatest": "Milliseconds",
    "IncomingBytes": "Bytes",
    "GetRecords.Bytes": "Bytes",
    "PutRecord.Bytes": "Bytes",
    "SubscribeToShardEvent.Bytes": "Bytes",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One metric."""

    namespace: str
    name: str
    dimensions: Dimensions

    @property
    def unit(self) -> str:
        return _UNITS.get(self.name, "Count")


def wanted(
    stream: str, consumers: Sequence[ConsumerRecord], mapping_ids: Sequence[str]
) -> list[Wanted]:
    """Every metric that says something about the run."""
    return list(_wanted(stream, consumers, mapping_ids))


def _wanted(
    stream: str, consumers: Sequence[ConsumerRecord], mapping_ids: Sequence[str]
) -> Iterator[Wanted]:
    for name in _OF_STREAM:
        yield Wanted(_KINESIS, name, dimensions(StreamName=stream))
    for consumer in consumers:
        if consumer.efo_consumer is not None:
            where = dimensions(StreamName=stream, ConsumerName=consumer.efo_consumer)
            for name in _OF_CONSUMER:
                yield Wanted(_KINESIS, name, where)
        if consumer.function is not None:
            for name in _OF_FUNCTION:
                yield Wanted(_LAMBDA, name, dimensions(FunctionName=consumer.function))
    for mapping_id in mapping_ids:
        for name in _OF_MAPPING:
            yield Wanted(_LAMBDA, name, dimensions(EventSourceMappingUUID=mapping_id))


def minutes_of(
    cloudwatch: Any, metrics: Sequence[Wanted], start_ms: float, end_ms: float
) -> list[MinuteStatistic]:
    """The whole minutes from the one of ``start_ms`` on: CloudWatch's minutes begin with the
    clock's, so minute 0 holds up to 59 s from before the start. Blocks; raises ``AwsError``."""
    first_s = int(start_ms / 1000) // PERIOD_S * PERIOD_S
    found: dict[tuple[int, int], dict[str, float]] = {}
    per_call = QUERIES_PER_CALL // len(STATISTICS)
    for at in range(0, len(metrics), per_call):
        part = metrics[at : at + per_call]
        for result in _results(cloudwatch, part, first_s, end_ms / 1000):
            number, statistic = result["Id"].removeprefix("m").split("_")
            for moment, value in zip(result["Timestamps"], result["Values"], strict=True):
                minute = (int(moment.timestamp()) - first_s) // PERIOD_S
                key = (at + int(number), minute)
                found.setdefault(key, {})[STATISTICS[int(statistic)]] = value
    rows = [
        _row(metrics[number], minute, values) for (number, minute), values in sorted(found.items())
    ]
    return sorted(rows, key=lambda row: (row.namespace, row.name, row.dimensions, row.minute))


def _row(metric: Wanted, minute: int, values: dict[str, float]) -> MinuteStatistic:
    return MinuteStatistic(
        namespace=metric.namespace,
        name=metric.name,
        dimensions=metric.dimensions,
        minute=minute,
        sum=values.get("Sum", 0.0),
        count=int(values.get("SampleCount", 1)),
        minimum=values.get("Minimum", 0.0),
        maximum=values.get("Maximum", 0.0),
        unit=metric.unit,
    )


def _results(
    cloudwatch: Any, metrics: Sequence[Wanted], from_s: float, until_s: float
) -> Iterator[dict[str, Any]]:
    request: dict[str, Any] = {
        "MetricDataQueries": [
            _query(metric, f"m{number}_{index}", statistic)
            for number, metric in enumerate(metrics)
            for index, statistic in enumerate(STATISTICS)
        ],
        "StartTime": datetime.fromtimestamp(from_s, UTC),
        "EndTime": datetime.fromtimestamp(until_s, UTC),
        "ScanBy": "TimestampAscending",
    }
    with explained("the metrics"):
        while True:
            page = cloudwatch.get_metric_data(**request)
            yield from page["MetricDataResults"]
            if "NextToken" not in page:
                return
            request["NextToken"] = page["NextToken"]


def _query(metric: Wanted, query_id: str, statistic: str) -> dict[str, Any]:
    return {
        "Id": query_id,
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
            },
            "Period": PERIOD_S,
            "Stat": statistic,
        },
    }
