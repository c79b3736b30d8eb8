"""The bare ``get_records`` loop of the published measurement (``processes.get_records``) in virtual
time: call, sleep, call again; several shards by turns."""

from __future__ import annotations

import asyncio
from typing import Any

from shardlane_lab.collector import Collector
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.simulated.receipt import handle_in_turn, record_of
from shardlane_lab.simulated.sdk import RETRIED, SdkClient


class BarePoller:
    def __init__(
        self, label: str, client: SdkClient, stream: str, collector: Collector, interval_s: float
    ) -> None:
        self._label = label
        self._client = client
        self._stream = stream
        self._collector = collector
        self._interval_s = interval_s
        self._iterators: dict[str, str | None] = {}
        """By shard; None of one that has ended."""
        self._last: dict[str, str] = {}
        """The last record of each shard."""

    async def open(self) -> None:
        """Reads from LATEST on."""
        answer = await self._client.call("ListShards", {"StreamName": self._stream})
        for shard in answer["Shards"]:
            shard_id = shard["ShardId"]
            self._iterators[shard_id] = await self._iterator(shard_id, "LATEST")

    async def run(self) -> None:
        while True:
            for shard_id in list(self._iterators):
                await self._poll(shard_id)
            await asyncio.sleep(self._interval_s)

    async def _iterator(self, shard_id: str, kind: str) -> str:
        request: dict[str, Any] = {
            "StreamName": self._stream,
            "ShardId": shard_id,
            "ShardIteratorType": kind,
        }
        if shard_id in self._last:
            request["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER"
            request["StartingSequenceNumber"] = self._last[shard_id]
        return str((await self._client.call("GetShardIterator", request))["ShardIterator"])

    async def _poll(self, shard_id: str) -> None:
        iterator = self._iterators[shard_id]
        if iterator is None:
            return
        try:
            answer = await self._client.call("GetRecords", {"ShardIterator": iterator})
        except ServiceError as error:
            await self._refused(shard_id, error)
            return
        self._iterators[shard_id] = answer.get("NextShardIterator")
        records = [record_of(each, shard_id) for each in answer["Records"]]
        if records:
            self._last[shard_id] = records[-1].sequence_number
        await handle_in_turn(records, self._collector, self._label)
        for child in answer.get("ChildShards", ()):
            if child["ShardId"] not in self._iterators:  # after a merge both parents name it
                self._iterators[child["ShardId"]] = await self._iterator(
                    child["ShardId"], "TRIM_HORIZON"
                )

    async def _refused(self, shard_id: str, error: ServiceError) -> None:
        if error.code == "ExpiredIteratorException":
            self._iterators[shard_id] = await self._iterator(shard_id, "LATEST")
        elif error.code == "InternalFailureException":
            told = {"event": "interrupted", "label": self._label, "reason": str(error)}
            self._collector.event(told)
        elif error.code in RETRIED:
            self._collector.event({"event": "throttled", "label": self._label})
        else:
            raise error
