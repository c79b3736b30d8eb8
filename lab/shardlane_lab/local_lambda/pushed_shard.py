"""Reads one shard by enhanced fan-out: a mapping on a registered stream consumer.

Source: ``SubscribeToShard``, Kinesis API reference: a subscription ends after five minutes, and a
new one is refused within five seconds of the last.
"""

from __future__ import annotations

import asyncio
import logging
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
SILENCE_S = 35.0
"""An idle subscription gets an event every few seconds: one that is silent for so long is dead."""

log = logging.getLogger(__name__)


class PushedShard:
    def __init__(
        self, kinesis: Kinesis, consumer_arn: str, shard_id: str, intake: ShardIntake
    ) -> None:
        self._kinesis = kinesis
        self._place = {"ConsumerARN": consumer_arn, "ShardId": shard_id}
        self.intake = intake
        self._subscribed_s = float("-inf")
        self.positioned = asyncio.Event()

    async def read(self, start: Mapping[str, Any], again: Mapping[str, Any]) -> None:
        """Until the end of the shard, through as many subscriptions as it takes. ``again`` is
        where the next one starts should the first bring no event."""
        position = await self._drained(await self._subscribe(start), again)
        while not self.intake.closed:
            position = await self._drained(await self._subscribe(position), position)

    async def _drained(
        self, events: AsyncIterator[dict[str, Any]], position: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Takes the events of one subscription until it ends or breaks; returns where the next
        one starts. Raises ``ServiceError`` for what a next one would not mend."""
        clock = asyncio.get_running_loop().time
        self.positioned.set()
        async with aclosing(cast(Any, events)):
            while True:
                try:
                    async with asyncio.timeout(SILENCE_S):
                        event = await anext(events)
                except StopAsyncIteration:
                    return position
                except (ConnectionError, TimeoutError) as broken:
                    log.debug("a subscription broke: %r", broken)
                    return position
                except ServiceError as error:
                    if error.code not in RETRIED:
                        raise
                    return position
                await self.intake.wait_room()
                self.intake.add(event["Records"], clock())
                position = self._after(event, position)

    def _after(self, event: Mapping[str, Any], position: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where a next subscription starts: what was pushed is in the intake already."""
        continuation = event.get("ContinuationSequenceNumber")
        if continuation is None:  # the last event of a closed shard
            self.intake.close()
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
