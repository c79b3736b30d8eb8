"""Reads a shard with GetRecords, within its share of what the shard grants to all readers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane.consumer.feed import Feed
from shardlane.consumer.pace import Pace
from shardlane.consumer.reader import Service, ShardEnd, ShardMissing
from shardlane.consumer.refusal import Refusal, meaning_of
from shardlane.consumer.shard import child_shard

MOST_RECORDS = 10_000
"""The most that one GetRecords may return (GetRecords, API Reference)."""


class PollingReader:
    """One shard. An iterator lives five minutes and every answer brings a new one."""

    def __init__(self, feed: Feed, service: Service, pace: Pace) -> None:
        """``pace`` is the shard's in this process: the next reader goes on with it."""
        self._feed = feed
        self._service = service
        self._pace = pace
        self._iterator: str | None = None

    async def read(self) -> ShardEnd | ShardMissing:
        while True:
            await self._turn()
            try:
                answer = await self._ask()
            except KinesisRefused as refusal:
                missing = self._refused(refusal)
                if missing is not None:
                    return missing
            except KinesisUnreachable:
                self._feed.counters.read_errors += 1
                self._back_off()
            else:
                end = self._take(answer)
                if end is not None:
                    return end

    async def _turn(self) -> None:
        """Waits for the next read's time, and then for room: a slow handler does not use up the
        share, and what was read is never dropped."""
        wait_s = self._pace.due_s - _now_s()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        await self._feed.room()

    async def _ask(self) -> Mapping[str, Any]:
        kinesis = self._service.kinesis
        if self._iterator is None:
            request = {
                "StreamARN": self._service.stream_arn,
                "ShardId": self._feed.shard_id,
                **self._feed.opening.iterator_request(),
            }
            opened = await kinesis.call("GetShardIterator", request)
            self._iterator = opened["ShardIterator"]
        self._pace.started(_now_s())
        request = {"ShardIterator": self._iterator, "Limit": MOST_RECORDS}
        return await kinesis.call("GetRecords", request)

    def _take(self, answer: Mapping[str, Any]) -> ShardEnd | None:
        records, behind_ms = answer["Records"], answer.get("MillisBehindLatest") or 0
        self._iterator = answer.get("NextShardIterator")
        size_bytes = sum([len(each["Data"]) for each in records])
        self._feed.counters.bytes_read += size_bytes
        self._feed.offer(records, behind_ms)
        self._pace.answered(size_bytes, self._service.random.random(), at_tip=not behind_ms)
        if self._iterator is not None:
            return None
        return ShardEnd(tuple(child_shard(each) for each in answer.get("ChildShards") or ()))

    def _refused(self, refusal: KinesisRefused) -> ShardMissing | None:
        """Returns only if reading cannot go on; raises what waiting will not cure."""
        meaning = meaning_of(refusal)
        if meaning is Refusal.DENIED:
            raise refusal
        if meaning is Refusal.NOT_FOUND:
            return ShardMissing(str(refusal))
        if meaning is Refusal.EXPIRED:
            self._iterator = None
            return None
        if meaning is Refusal.INVALID:
            self._reopen(refusal)
        elif meaning is Refusal.THROTTLED:
            self._feed.counters.throttles += 1
        else:
            self._feed.counters.read_errors += 1
        self._back_off()
        return None

    def _reopen(self, refusal: KinesisRefused) -> None:
        if refusal.operation == "GetRecords":
            self._iterator = None  # the iterator is of no use; the position may well be
        else:
            self._feed.refused_position(refusal)

    def _back_off(self) -> None:
        self._pace.refused(_now_s(), self._service.random.random())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
