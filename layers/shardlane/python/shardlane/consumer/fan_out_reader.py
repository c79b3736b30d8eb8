"""Reads a shard by enhanced fan-out: one SubscribeToShard subscription after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardlane.backoff import Backoff
from shardlane.consumer.errors import ConsumerEvicted, KinesisRefused, KinesisUnreachable
from shardlane.consumer.feed import Feed
from shardlane.consumer.kinesis_port import EventSource
from shardlane.consumer.opening import Opening
from shardlane.consumer.reader import Service, ShardEnd, ShardMissing
from shardlane.consumer.refusal import Refusal, meaning_of
from shardlane.consumer.shard import child_shard

_log = logging.getLogger(__name__)

_BACKOFF = Backoff(first_ms=500.0, factor=2.0, most_ms=10_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRules:
    """The service's rules for subscriptions, in seconds, and ours for broken ones.

    Source: SubscribeToShard, API Reference (the five seconds and five minutes). That an idle
    subscription gets an empty event every few seconds is observed, not documented.
    """

    floor_s: float = 5.0
    """Between two successful subscribes of one shard; the service refuses a faster one."""
    in_use_s: float = 1.0
    """After such a refusal; fixed, since it passes by itself."""
    silence_s: float = 35.0
    """Without any event, an empty one too, the connection is dead."""
    early_s: float = 30.0
    """A clean end within this time is another subscriber's doing; a life is 300 s."""
    early_ends: int = 2
    """So many in a row, with leases that no other process sees, are no accident."""
    backoff: Backoff = _BACKOFF


@dataclass(slots=True)
class Floor:
    """When the next subscription of a shard may be tried."""

    due_s: float = float("-inf")


class FanOutReader:
    """One shard of one registered consumer."""

    def __init__(
        self,
        feed: Feed,
        service: Service,
        consumer_arn: str,
        rules: SubscriptionRules,
        floor: Floor,
        *,
        fresh_s: float,
        alone: bool,
    ) -> None:
        """``floor`` is the shard's in this process: the next reader goes on with it. ``fresh_s``:
        how old the last good write to the lease may be when subscribing, for a subscription evicts
        the one that another owner has. ``alone``: no other process sees the leases."""
        self._feed = feed
        self._service = service
        self._consumer_arn = consumer_arn
        self._rules = rules
        self._floor = floor
        self._fresh_s = fresh_s
        self._alone = alone
        self._failures = 0
        self._early_ends = 0

    async def read(self) -> ShardEnd | ShardMissing:
        while True:
            await self._turn()
            found: ShardEnd | ShardMissing | None = None
            try:
                found = await self._subscription()
            except KinesisRefused as refusal:
                found = self._refused(refusal)
            except KinesisUnreachable as error:
                _log.info("%s: the subscription broke: %s", self._feed.shard_id, error)
                self._feed.counters.read_errors += 1
                self._back_off()
            if found is not None:
                return found

    async def _turn(self) -> None:
        wait_s = self._floor.due_s - _now_s()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        await self._feed.room()
        await self._feed.confirm(_now_s() - self._fresh_s)

    async def _subscription(self) -> ShardEnd | None:
        """One subscription from its start to its end."""
        began_s = _now_s()
        source = await self._service.kinesis.subscribe(
            {
                "ConsumerARN": self._consumer_arn,
                "ShardId": self._feed.shard_id,
                "StartingPosition": self._feed.opening.starting_position(),
            }
        )
        self._feed.counters.subscribes += 1
        _log.info("%s: subscribed, %s", self._feed.shard_id, self._feed.opening)
        # Counted from the answer: the service counts from somewhere between the two.
        self._floor.due_s = _now_s() + self._rules.floor_s
        try:
            end = await self._events(source)
        finally:
            await source.close()
        if end is None:
            await self._ended(_now_s() - began_s)
        return end

    async def _events(self, source: EventSource) -> ShardEnd | None:
        while True:
            event = await self._next_event(source)
            if event is None:
                return None
            self._failures = 0
            end = self._take(event)
            if end is not None:
                return end
            await self._feed.room()

    async def _next_event(self, source: EventSource) -> Mapping[str, Any] | None:
        """The deadline runs while waiting for the network only, not while the channel is full."""
        try:
            async with asyncio.timeout(self._rules.silence_s):
                return await source.next_event()
        except TimeoutError as error:
            raise KinesisUnreachable(f"no event for {self._rules.silence_s:g} s") from error

    def _take(self, event: Mapping[str, Any]) -> ShardEnd | None:
        feed, records = self._feed, event["Records"]
        feed.counters.bytes_read += sum([len(each["Data"]) for each in records])
        feed.offer(records, event.get("MillisBehindLatest") or 0)
        continuation = event.get("ContinuationSequenceNumber")
        if event.get("ChildShards") or continuation is None:
            return ShardEnd(tuple(child_shard(each) for each in event.get("ChildShards") or ()))
        if not records:
            feed.opening = Opening.after(continuation)  # progress without records
        return None

    async def _ended(self, lived_s: float) -> None:
        """A subscription that ended early was taken over: by a new owner, if the lease is gone,
        and then this reader is cancelled while it waits."""
        if lived_s >= self._rules.early_s:
            self._early_ends = 0
            return
        # Nobody can take over a subscription that is younger than the floor: that was the network.
        if lived_s >= self._rules.floor_s:
            self._early_ends += 1
        if self._alone and self._early_ends >= self._rules.early_ends:
            raise ConsumerEvicted(
                f"the registered consumer {self._consumer_arn} is used by another process: this "
                f"one's subscription of {self._feed.shard_id} was ended early "
                f"{self._early_ends} times in a row. Use a consumer name of its own for each "
                "application, and a shared lease store for several processes of one application"
            )
        await self._feed.confirm(_now_s())

    def _refused(self, refusal: KinesisRefused) -> ShardMissing | None:
        meaning = meaning_of(refusal)
        if meaning is Refusal.DENIED:
            raise refusal
        if meaning is Refusal.NOT_FOUND:
            return ShardMissing(str(refusal))
        if meaning is Refusal.IN_USE:
            self._floor.due_s = max(self._floor.due_s, _now_s() + self._rules.in_use_s)
            return None
        if meaning is Refusal.INVALID:
            self._feed.refused_position(refusal)
        elif meaning is Refusal.THROTTLED:
            self._feed.counters.throttles += 1
        else:
            self._feed.counters.read_errors += 1
        self._back_off()
        return None

    def _back_off(self) -> None:
        self._failures += 1
        wait_s = self._rules.backoff.wait_ms(self._failures, self._service.random.random()) / 1000
        self._floor.due_s = max(self._floor.due_s, _now_s() + wait_s)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
