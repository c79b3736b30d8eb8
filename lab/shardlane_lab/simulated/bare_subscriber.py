"""The bare ``subscribe_to_shard`` loop of the published measurement (``processes.subscribe``) in
virtual time, a task for each shard."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from shardlane_lab.collector import Collector
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.processes.subscribe import FLOOR_S, PASSING, REFUSED_S
from shardlane_lab.simulated.receipt import handle_in_turn, record_of
from shardlane_lab.simulated.sdk import SdkClient


class BareSubscriber:
    def __init__(
        self, label: str, client: SdkClient, stream: str, consumer_arn: str, collector: Collector
    ) -> None:
        self._label = label
        self._client = client
        self._stream = stream
        self._consumer_arn = consumer_arn
        self._collector = collector
        self._started: set[str] = set()

    async def run(self) -> None:
        """From LATEST on, until it is cancelled."""
        answer = await self._client.call("ListShards", {"StreamName": self._stream})
        async with asyncio.TaskGroup() as group:
            for shard in answer["Shards"]:
                self._start(group, shard["ShardId"], "LATEST")
            await asyncio.Event().wait()

    def _start(self, group: asyncio.TaskGroup, shard_id: str, start: str) -> None:
        if shard_id not in self._started:  # after a merge both parents name the child
            self._started.add(shard_id)
            group.create_task(self._follow(group, shard_id, {"Type": start}))

    async def _follow(
        self, group: asyncio.TaskGroup, shard_id: str, position: dict[str, str]
    ) -> None:
        clock = asyncio.get_running_loop().time
        children: list[str] | None = None
        while children is None:
            began_s = clock()
            try:
                children = await self._read(shard_id, position)
            except ConnectionError as error:
                self._interrupted(error)
            except ServiceError as error:
                if error.code not in PASSING:
                    raise
                self._interrupted(error)
                await asyncio.sleep(REFUSED_S)
                continue
            await asyncio.sleep(max(0.0, FLOOR_S - (clock() - began_s)))
        for child in children:
            self._start(group, child, "TRIM_HORIZON")

    def _interrupted(self, error: Exception) -> None:
        self._collector.event({"event": "interrupted", "label": self._label, "reason": repr(error)})

    async def _read(self, shard_id: str, position: dict[str, str]) -> list[str] | None:
        """Reads one subscription to its end; the children if the shard itself has ended."""
        request = {
            "ConsumerARN": self._consumer_arn,
            "ShardId": shard_id,
            "StartingPosition": dict(position),
        }
        async with aclosing(await self._client.subscribe(request)) as events:
            async for event in events:
                records = [record_of(each, shard_id) for each in event["Records"]]
                await handle_in_turn(records, self._collector, self._label)
                continuation = event.get("ContinuationSequenceNumber")
                if event.get("ChildShards") or continuation is None:
                    return [each["ShardId"] for each in event.get("ChildShards") or ()]
                position["Type"] = "AFTER_SEQUENCE_NUMBER"
                position["SequenceNumber"] = continuation
        return None
