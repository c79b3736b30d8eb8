"""From an account to what the rules look at: read-only calls."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from shardlane.clock import Clock
from shardlane.operations.aws_errors import is_denied
from shardlane.operations.clients import Clients
from shardlane.operations.lint.inspected import (
    Inspected,
    InspectedAlarm,
    InspectedMapping,
)
from shardlane.operations.mapping import Mapping, mapping_from
from shardlane.operations.stream_reader import stream_arn

WINDOW = timedelta(days=1)


def inspect_stream(clients: Clients, stream: str, clock: Clock) -> Inspected:
    """The stream's mappings, those of its consumers, and every alarm of the region: one without
    dimensions names no stream."""
    arn = stream_arn(clients("kinesis"), stream)
    mappings = tuple(_inspected(each) for source in _sources(clients, arn) for each in source)
    name = arn.rpartition("/")[2]
    measured = _record_bytes(clients("cloudwatch"), name, clock.wall_ms() / 1000)
    known = Inspected(mappings=mappings, alarms=tuple(_alarms(clients("cloudwatch"))))
    if measured is None:
        return known
    return Inspected(
        mappings=known.mappings,
        alarms=known.alarms,
        record_bytes=measured,
        record_bytes_from="the stream's average of the last day",
    )


def _sources(clients: Clients, arn: str) -> Iterator[Iterator[Mapping]]:
    yield _mappings(clients("lambda"), arn)
    pages = clients("kinesis").get_paginator("list_stream_consumers")
    for page in pages.paginate(StreamARN=arn):
        for each in page["Consumers"]:
            yield _mappings(clients("lambda"), each["ConsumerARN"])


def _mappings(client: Any, source_arn: str) -> Iterator[Mapping]:
    pages = client.get_paginator("list_event_source_mappings")
    for page in pages.paginate(EventSourceArn=source_arn):
        yield from map(mapping_from, page["EventSourceMappings"])


def _inspected(mapping: Mapping) -> InspectedMapping:
    return InspectedMapping(
        where=f"{mapping.function} ({mapping.uuid})",
        source=mapping.source_arn,
        fan_out=mapping.consumer is not None,
        retries=mapping.retries,
        age_s=mapping.age_s,
        on_failure=mapping.on_failure is not None,
        partial=mapping.partial,
        batch_size=mapping.batch_size,
        starting_position=mapping.starting_position,
        filters=mapping.filters,
    )


def _alarms(cloudwatch: Any) -> Iterator[InspectedAlarm]:
    try:
        for page in cloudwatch.get_paginator("describe_alarms").paginate(
            AlarmTypes=["MetricAlarm"]
        ):
            for alarm in page["MetricAlarms"]:
                yield from _alarm(alarm)
    except ClientError as error:
        if not is_denied(error):
            raise


def _alarm(alarm: dict[str, Any]) -> Iterator[InspectedAlarm]:
    stats = [
        each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each
    ]
    for metric in [alarm, *stats] if alarm.get("Namespace") else stats:
        yield InspectedAlarm(
            where=alarm["AlarmName"],
            namespace=metric.get("Namespace", ""),
            metric=metric.get("MetricName", ""),
            has_dimensions=bool(metric.get("Dimensions")),
        )


def _record_bytes(cloudwatch: Any, stream: str, now_s: float) -> int | None:
    """The average size of a record's data; None without metrics."""
    end = datetime.fromtimestamp(now_s, UTC)
    sums = []
    for name in ("IncomingBytes", "IncomingRecords"):
        try:
            answer = cloudwatch.get_metric_statistics(
                Namespace="AWS/Kinesis",
                MetricName=name,
                Dimensions=[{"Name": "StreamName", "Value": stream}],
                StartTime=end - WINDOW,
                EndTime=end + timedelta(minutes=1),
                Period=3600,
                Statistics=["Sum"],
            )
        except ClientError as error:
            if is_denied(error):
                return None
            raise
        sums.append(sum(each["Sum"] for each in answer["Datapoints"]))
    size, records = sums
    return max(1, round(size / records)) if records else None
