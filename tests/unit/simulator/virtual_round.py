"""A published round in virtual time, on the local service itself: its model of Kinesis, its event
source mappings, and loops like the bare consumers' with botocore's own retries."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.in_process_function import InProcessFunction
from shardlane_lab.local_lambda.mapping import EventSourceMapping, MappingPorts
from shardlane_lab.local_lambda.mapping_config import MappingConfig, MappingIdentity
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.metric import Datum
from shardlane_lab.simulator.parameters import H0
from shardlane_lab.virtual_time import run_virtual, wall_ms
from tests.unit.simulator.botocore_retries import BotocoreRetries

STREAM = "order-events"
SHARD = "shardId-000000000000"
INTERVAL_S = 0.2


class VirtualRound:
    """``latency_ms`` by label once ``run`` has ended."""

    def __init__(self, pollers: int, seconds: float, seed: int) -> None:
        self._pollers = pollers
        self._seconds = seconds
        self._random = Random(seed)
        self.latency_ms: dict[str, list[float]] = defaultdict(list)
        self.surfaced = 0
        self.data: list[Datum] = []
        self._came = asyncio.Event()
        model = Kinesis(delays=Delays.measured(), seed=seed, observer=self.data.append)
        self._client = InProcessKinesis(model, wall_ms)
        self._service = InProcessKinesis(model, wall_ms, Caller.EVENT_SOURCE_MAPPING)

    def run(self) -> None:
        run_virtual(self._run())

    @property
    def throttled_per_minute(self) -> float:
        refused = sum(each.name == "ReadProvisionedThroughputExceeded" for each in self.data)
        return refused * 60 / self._seconds

    async def _run(self) -> None:
        arn = await self._stream()
        consumer_arn = await self._consumer(arn)
        mappings = [
            self._mapping("lambda-standard", arn, None),
            self._mapping("lambda-efo", arn, consumer_arn),
        ]
        readers = [asyncio.create_task(each.run()) for each in mappings]
        for number in range(1, self._pollers + 1):
            readers.append(asyncio.create_task(self._poll(f"boto3-get-records-{number}")))
        for each in mappings:
            await each.ready.wait()
        await asyncio.sleep(3 + self._random.random())
        expected = await self._produce()
        await asyncio.wait_for(self._everything(expected), timeout=600)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    async def _stream(self) -> str:
        await self._client.call("CreateStream", {"StreamName": STREAM, "ShardCount": 1})
        await asyncio.sleep(1)
        answer = await self._client.call("DescribeStreamSummary", {"StreamName": STREAM})
        return str(answer["StreamDescriptionSummary"]["StreamARN"])

    async def _consumer(self, arn: str) -> str:
        request = {"StreamARN": arn, "ConsumerName": "lambda-efo"}
        made = await self._client.call("RegisterStreamConsumer", request)
        await asyncio.sleep(1)
        return str(made["Consumer"]["ConsumerARN"])

    def _mapping(self, label: str, arn: str, consumer_arn: str | None) -> EventSourceMapping:
        def handler(event: Mapping[str, Any], _context: object) -> None:
            for record in event["Records"]:
                seen = record["kinesis"]
                json.loads(b64decode(seen["data"]))
                self._received(label, seen["approximateArrivalTimestamp"])

        function = InProcessFunction(
            handler=handler,
            wall_ms=wall_ms,
            name=label,
            duration_s=H0.function_overhead_ms / 1000,
        )
        identity = MappingIdentity(
            uuid=label,
            function_name=label,
            function_arn=function.arn,
            invoke_identity_arn="arn:aws:iam::000000000000:role/lab",
            stream_name=STREAM,
            stream_arn=arn,
            consumer_arn=consumer_arn,
        )
        ports = MappingPorts(
            kinesis=self._service,
            invoke=function.invoke,
            wall_ms=wall_ms,
            rng=Random(self._random.random()),
        )
        config = MappingConfig(starting_position="LATEST")
        return EventSourceMapping(config, identity, ports, PollTiming.measured())

    async def _poll(self, label: str) -> None:
        request = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "LATEST"}
        iterator = await self._client.call("GetShardIterator", request)
        retries = BotocoreRetries(H0.retries.max_attempts, Random(self._random.random()).random)
        self.latency_ms[label] = []
        await asyncio.sleep(self._random.random())
        while True:
            try:
                answer = await self._client.call(
                    "GetRecords", {"ShardIterator": iterator["ShardIterator"]}
                )
            except ServiceError as error:
                if error.code != "ProvisionedThroughputExceededException":
                    raise
                pause_s = retries.refused()
                self.surfaced += pause_s is None
                await asyncio.sleep(INTERVAL_S if pause_s is None else pause_s)
                continue
            retries.succeeded()
            iterator = {"ShardIterator": answer["NextShardIterator"]}
            for record in answer["Records"]:
                self._received(label, record["ApproximateArrivalTimestamp"])
            await asyncio.sleep(INTERVAL_S)

    async def _produce(self) -> int:
        count = round(5 * self._seconds)
        start_ms = wall_ms()
        for number in range(count):
            await asyncio.sleep(max(0.0, start_ms + number * 200 - wall_ms()) / 1000)
            data = json.dumps({"seq": number}).encode()
            await self._client.call(
                "PutRecord", {"StreamName": STREAM, "Data": data, "PartitionKey": str(number % 10)}
            )
        return count

    async def _everything(self, expected: int) -> None:
        while any(len(got) < expected for got in self.latency_ms.values()):
            self._came.clear()
            await self._came.wait()

    def _received(self, label: str, arrival_s: float) -> None:
        self.latency_ms[label].append(wall_ms() - arrival_s * 1000)
        self._came.set()
