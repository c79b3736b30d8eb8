"""What the service says about a stream: its identity, its shards, its registered consumers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from random import Random
from typing import Any

from shardlane.backoff import Backoff
from shardlane.consumer.errors import (
    ConsumerError,
    KinesisRefused,
    KinesisUnreachable,
    StreamConsumerError,
    StreamNotFound,
)
from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.lease_store import StreamIdentity
from shardlane.consumer.refusal import Refusal, meaning_of
from shardlane.consumer.shard import Shard, listed_shard

_log = logging.getLogger(__name__)

ACTIVE_WITHIN_S = 300.0
"""A new stream or registered consumer is usually ACTIVE within seconds."""
_LOOK_AGAIN_S = 1.0


class PatientCaller:
    """Control calls, repeated through throttles and outages.

    Their rates are per account (DescribeStreamSummary 20, ListStreamConsumers 5 a second), and a
    fleet starts together: full jitter keeps it from knocking in step.
    """

    def __init__(
        self,
        kinesis: KinesisPort,
        random: Random,
        backoff: Backoff = Backoff(first_ms=500.0, factor=2.0, most_ms=10_000.0),  # noqa: B008
    ) -> None:
        self.kinesis = kinesis
        self._random = random
        self._backoff = backoff

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises ``KinesisRefused`` for what waiting does not cure."""
        failures = 0
        while True:
            try:
                return await self.kinesis.call(operation, request)
            except KinesisUnreachable as error:
                _log.warning("%s: %s; trying again", operation, error)
            except KinesisRefused as refusal:
                if meaning_of(refusal) not in (Refusal.THROTTLED, Refusal.PASSING):
                    raise
                _log.info("%s; trying again", refusal)
            failures += 1
            await asyncio.sleep(self._backoff.wait_ms(failures, self._random.random()) / 1000)


def stream_request(name_or_arn: str) -> dict[str, str]:
    return {("StreamARN" if name_or_arn.startswith("arn:") else "StreamName"): name_or_arn}


async def identified(caller: PatientCaller, name_or_arn: str) -> StreamIdentity:
    """The stream's identity, once it can be read. Raises ``StreamNotFound``."""
    deadline_s = asyncio.get_running_loop().time() + ACTIVE_WITHIN_S
    while True:
        try:
            answer = await caller.call("DescribeStreamSummary", stream_request(name_or_arn))
        except KinesisRefused as refusal:
            if meaning_of(refusal) is Refusal.NOT_FOUND:
                raise StreamNotFound(f"there is no stream {name_or_arn} here") from refusal
            raise
        summary = answer["StreamDescriptionSummary"]
        status = summary["StreamStatus"]
        if status in ("ACTIVE", "UPDATING"):
            return StreamIdentity(
                name=summary["StreamName"],
                arn=summary["StreamARN"],
                created_ms=int(summary["StreamCreationTimestamp"] * 1000),
            )
        if status == "DELETING":
            raise StreamNotFound(f"the stream {name_or_arn} is being deleted")
        if asyncio.get_running_loop().time() > deadline_s:
            raise ConsumerError(f"{name_or_arn} is still {status} after {ACTIVE_WITHIN_S:g} s")
        await asyncio.sleep(_LOOK_AGAIN_S)


async def list_shards(caller: PatientCaller, stream_arn: str) -> list[Shard]:
    """Every shard that is listed, closed ones too.

    A ``NextToken`` must come alone and lives 300 s (ListShards, API Reference); when it has
    expired the listing starts again.
    """
    shards: list[Shard] = []
    request: dict[str, str] = {"StreamARN": stream_arn}
    while True:
        try:
            answer = await caller.call("ListShards", request)
        except KinesisRefused as refusal:
            if refusal.code != "ExpiredNextTokenException":
                raise
            shards, request = [], {"StreamARN": stream_arn}
            continue
        shards.extend(listed_shard(each) for each in answer["Shards"])
        token = answer.get("NextToken")
        if not token:
            return shards
        request = {"NextToken": token}


async def registered_consumer(caller: PatientCaller, stream_arn: str, name: str) -> str:
    """The ARN of the stream's consumer ``name``, registered if need be, once it is ACTIVE.

    It is never deregistered here: other processes of the application share it. Raises
    ``StreamConsumerError`` saying what is in the way.
    """
    deadline_s = asyncio.get_running_loop().time() + ACTIVE_WITHIN_S
    named = {"StreamARN": stream_arn, "ConsumerName": name}
    while True:
        try:
            described = await caller.call("DescribeStreamConsumer", named)
        except KinesisRefused as refusal:
            if meaning_of(refusal) is not Refusal.NOT_FOUND:
                raise
            await _register(caller, stream_arn, name)
            continue
        consumer = described["ConsumerDescription"]
        if consumer["ConsumerStatus"] == "ACTIVE":
            return str(consumer["ConsumerARN"])
        if asyncio.get_running_loop().time() > deadline_s:
            raise StreamConsumerError(
                f"the registered consumer {name} is still {consumer['ConsumerStatus']} after "
                f"{ACTIVE_WITHIN_S:g} s"
            )
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _register(caller: PatientCaller, stream_arn: str, name: str) -> None:
    request = {"StreamARN": stream_arn, "ConsumerName": name}
    try:
        # Not through the patient caller: its LimitExceededException means "20 consumers", too.
        await caller.kinesis.call("RegisterStreamConsumer", request)
    except KinesisRefused as refusal:
        if meaning_of(refusal) is Refusal.IN_USE:
            return  # another process was faster
        if refusal.code == "LimitExceededException" and await _is_crowded(caller, stream_arn):
            raise StreamConsumerError(
                f"{stream_arn} has 20 registered consumers already, the most that a provisioned "
                f"stream may have; deregister one, or read with one of them instead of {name}"
            ) from refusal
        if meaning_of(refusal) not in (Refusal.THROTTLED, Refusal.PASSING):
            raise
        await asyncio.sleep(_LOOK_AGAIN_S)
    except KinesisUnreachable:
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _is_crowded(caller: PatientCaller, stream_arn: str) -> bool:
    answer = await caller.call("ListStreamConsumers", {"StreamARN": stream_arn, "MaxResults": 100})
    return len(answer["Consumers"]) >= 20
