"""Streams and their registered consumers, made and ACTIVE."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_lambda.ports import Kinesis
from shardlane_lab.local_lambda.template_values import StreamSpec

_POLL_S = 0.05
SHORTEST_RETENTION_HOURS = 24


async def create_stream(kinesis: Kinesis, spec: StreamSpec) -> str:
    """The ARN of the new stream."""
    request: dict[str, Any] = {"StreamName": spec.name}
    if spec.mode == "ON_DEMAND":
        request["StreamModeDetails"] = {"StreamMode": spec.mode}
    else:
        request["ShardCount"] = spec.shard_count
    await kinesis.call("CreateStream", request)
    summary = await _active_stream(kinesis, spec.name)
    if spec.retention_hours > SHORTEST_RETENTION_HOURS:
        longer = {"StreamName": spec.name, "RetentionPeriodHours": spec.retention_hours}
        await kinesis.call("IncreaseStreamRetentionPeriod", longer)
        await _active_stream(kinesis, spec.name)
    return str(summary["StreamARN"])


async def _active_stream(kinesis: Kinesis, name: str) -> Mapping[str, Any]:
    while True:
        answer = await kinesis.call("DescribeStreamSummary", {"StreamName": name})
        summary: Mapping[str, Any] = answer["StreamDescriptionSummary"]
        if summary["StreamStatus"] == "ACTIVE":
            return summary
        await asyncio.sleep(_POLL_S)


async def register_consumer(kinesis: Kinesis, stream_arn: str, name: str) -> str:
    """The ARN of the new stream consumer."""
    request = {"StreamARN": stream_arn, "ConsumerName": name}
    arn = (await kinesis.call("RegisterStreamConsumer", request))["Consumer"]["ConsumerARN"]
    while True:
        answer = await kinesis.call("DescribeStreamConsumer", {"ConsumerARN": arn})
        if answer["ConsumerDescription"]["ConsumerStatus"] == "ACTIVE":
            return str(arn)
        await asyncio.sleep(_POLL_S)
