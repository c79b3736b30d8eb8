"""Reads one shard by enhanced fan-out: a mapping on a registered stream consumer.

Source: ``SubscribeToShard``, Kinesis API reference: a subscription ends after five minutes, and a
new one is refused within five seconds of the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.patience import PASSING
from shardlane_lab.local_lambda.ports import Kinesis
from shardlane_lab.local_lambda.shard_intake import ShardIntake

BETWEEN_SUBSCRIPTIONS_S = 5.0
RETRIED = PASSING | {"ResourceInUseException"}
REFUSED_PAUSE_S = 1.0
"""Fixed: backing off further would only add to the delay of what waits in the shard."""


class PushedShard:
    def __init__(
        self, kinesis: Kinesis, consumer_arn: str, shard_id: str, intake: ShardIntake
    ) -> None:
        self._kinesis = kinesis
        self._place = {"ConsumerARN": consumer_arn, "ShardId": shard_id}
        self._intake = intake
        self._subscribed_s = float("-inf")
        self.positioned = asyncio.Event()

    async def read(self, position: Mapping[str, Any]) -> None:
        """Until the end of the shard, through as many subscriptions as it takes."""
        clock = asyncio.get_running_loop().time
        while not self._intake.closed:
            events = await self._subscribe(position)
            self.positioned.set()
            async with aclosing(cast(Any, events)):
                try:
                    async for event in events:
                        await self._intake.wait_room()
                        self._intake.add(event["Records"], clock())
                        position = self._after(event, position)
                except ServiceError as error:
                    if error.code not in RETRIED:
                        raise

    def _after(self, event: Mapping[str, Any], position: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where a next subscription starts: what was pushed is in the intake already."""
        continuation = event.get("ContinuationSequenceNumber")
        if continuation is None:  # the last event of a closed shard
            self._intake.close()
            return position
        return {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": continuation}

    async def _subscribe(self, position: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(max(0.0, self._subscribed_s + BETWEEN_SUBSCRIPTIONS_S - clock()))
            request = self._place | {"StartingPosition": dict(position)}
            try:
                events = self._kinesis.subscribe(request)
            except ServiceError as error:
                if error.code not in RETRIED:
                    raise
                await asyncio.sleep(REFUSED_PAUSE_S)
                continue
            self._subscribed_s = clock()
            return events
