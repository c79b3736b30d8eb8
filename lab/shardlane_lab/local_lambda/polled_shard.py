"""Reads one shard by polling: a mapping on the stream itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.patience import patiently
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.ports import Kinesis
from shardlane_lab.local_lambda.shard_intake import ShardIntake


class PolledShard:
    def __init__(
        self,
        kinesis: Kinesis,
        stream_arn: str,
        shard_id: str,
        intake: ShardIntake,
        timing: PollTiming,
        rng: random.Random,
    ) -> None:
        self._kinesis = kinesis
        self._place = {"StreamARN": stream_arn, "ShardId": shard_id}
        self.intake = intake
        self._timing = timing
        self._rng = rng
        self._again: Mapping[str, Any] = {}
        self.positioned = asyncio.Event()

    async def read(self, start: Mapping[str, Any], again: Mapping[str, Any]) -> None:
        """Until the end of the shard. ``again`` is where reading starts anew should the first
        iterator expire before it brought a record."""
        self._again = again
        iterator: str | None = await self._open(start)
        self.positioned.set()
        clock = asyncio.get_running_loop().time
        while iterator is not None:
            await self.intake.wait_wanted()
            started_s = clock()
            answer = await self._poll(iterator)
            self.intake.add(answer["Records"], clock())
            iterator = answer.get("NextShardIterator")
            behind = answer["MillisBehindLatest"] > 0
            if iterator is not None:
                due_s = started_s + self._timing.next_s(behind, self._rng)
                await asyncio.sleep(max(0.0, due_s - clock()))
        self.intake.close()

    async def _poll(self, iterator: str) -> dict[str, Any]:
        """Keeps the iterator through throttling; opens a new one after the last record read when
        it has expired."""
        try:
            return await self._call("GetRecords", {"ShardIterator": iterator})
        except ServiceError as error:
            if error.code != "ExpiredIteratorException":
                raise
        last = self.intake.last_read
        after = {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
        return await self._poll(await self._open(self._again if last is None else after))

    async def _open(self, position: Mapping[str, Any]) -> str:
        request = dict(self._place) | {"ShardIteratorType": position["Type"]}
        if "SequenceNumber" in position:
            request["StartingSequenceNumber"] = position["SequenceNumber"]
        if "Timestamp" in position:
            request["Timestamp"] = position["Timestamp"]
        answer = await self._call("GetShardIterator", request)
        return str(answer["ShardIterator"])

    async def _call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return await patiently(self._kinesis, self._rng, operation, request)
