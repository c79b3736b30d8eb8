"""The stream of a trial: created, ACTIVE, and with a registered consumer if it is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_lambda.ports import Kinesis

STREAM = "orders"
CONSUMER = "function"
_POLL_S = 0.1


async def create_stream(kinesis: Kinesis, shards: int, retention_hours: int) -> str:
    """The ARN of the new stream."""
    await kinesis.call("CreateStream", {"StreamName": STREAM, "ShardCount": shards})
    arn = str((await _active_stream(kinesis))["StreamARN"])
    if retention_hours > 24:
        request = {"StreamName": STREAM, "RetentionPeriodHours": retention_hours}
        await kinesis.call("IncreaseStreamRetentionPeriod", request)
        await _active_stream(kinesis)
    return arn


async def _active_stream(kinesis: Kinesis) -> Mapping[str, Any]:
    while True:
        answer = await kinesis.call("DescribeStreamSummary", {"StreamName": STREAM})
        summary: Mapping[str, Any] = answer["StreamDescriptionSummary"]
        if summary["StreamStatus"] == "ACTIVE":
            return summary
        await asyncio.sleep(_POLL_S)


async def register_consumer(kinesis: Kinesis, stream_arn: str) -> str:
    """The ARN of the new stream consumer."""
    request = {"StreamARN": stream_arn, "ConsumerName": CONSUMER}
    arn = (await kinesis.call("RegisterStreamConsumer", request))["Consumer"]["ConsumerARN"]
    while True:
        answer = await kinesis.call("DescribeStreamConsumer", {"ConsumerARN": arn})
        if answer["ConsumerDescription"]["ConsumerStatus"] == "ACTIVE":
            return str(arn)
        await asyncio.sleep(_POLL_S)
