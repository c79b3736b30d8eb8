"""The services of a run in one event loop: the local Kinesis with its HTTP server, the template's
functions, and their event source mappings."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

from shardlane_lab.errors import LabError
from shardlane_lab.experiment import Service
from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_lambda.function import LocalFunction, OnLog
from shardlane_lab.local_lambda.mapping import EventSourceMapping, MappingPorts
from shardlane_lab.local_lambda.mapping_config import MappingIdentity
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.template_values import MappingSpec, StreamSpec, Template
from shardlane_lab.metric import Observer

ACTIVE_WITHIN_S = 30.0


def wall_ms() -> float:
    """This machine's clock in epoch milliseconds."""
    return time.time_ns() / 1e6


class LocalServices:
    """An async context manager; inside it ``endpoint`` is where the local Kinesis listens."""

    def __init__(
        self,
        template: Template,
        mappings: Sequence[MappingSpec],
        service: Service,
        *,
        on_log: OnLog,
        observer: Observer,
    ) -> None:
        measured = service.delays == "measured"
        self._template = template
        self._specs = mappings
        self._timing = PollTiming.measured() if measured else PollTiming.exact()
        self._seed = service.seed
        self._on_log = on_log
        self._observer = observer
        self._model = Kinesis(
            region=template.region,
            account=template.account,
            delays=Delays.measured() if measured else Delays.none(),
            seed=service.seed,
            observer=observer,
        )
        self._mappings: list[EventSourceMapping] = []
        self._running: list[asyncio.Task[None]] = []
        self._stack = AsyncExitStack()
        self.endpoint = ""
        self.region = template.region

    async def __aenter__(self) -> LocalServices:
        try:
            server = KinesisServer(self._model, wall_ms)
            self.endpoint = f"http://127.0.0.1:{await server.start()}"
            self._stack.push_async_callback(server.stop)
            arns = await self._create_streams()
            for number, spec in enumerate(self._specs):
                await self._start_mapping(spec, arns, self._seed + number)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def wait_reading(self, timeout_s: float) -> None:
        """Until every mapping reads every shard. Raises ``LabError`` if one fails or is late."""
        reading = asyncio.create_task(self._all_read())
        try:
            done, _ = await asyncio.wait(
                (reading, *self._running), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            reading.cancel()
        for task in done - {reading}:
            await task  # a mapping that ends by itself has failed: this raises why
        if reading not in done:
            raise LabError(f"the event source mappings did not read within {timeout_s:.0f} s")

    async def _all_read(self) -> None:
        for mapping in self._mappings:
            await mapping.ready.wait()

    async def _create_streams(self) -> dict[str, str]:
        """Makes what the template makes; returns ARNs by the names of streams and consumers."""
        client = InProcessKinesis(self._model, wall_ms)
        arns = {}
        for stream in self._template.streams:
            arns[stream.name] = await self._create_stream(client, stream)
        for consumer in self._template.consumers:
            request = {"StreamARN": arns[consumer.stream], "ConsumerName": consumer.name}
            answer = await client.call("RegisterStreamConsumer", request)
            arns[consumer.name] = answer["Consumer"]["ConsumerARN"]
        for consumer in self._template.consumers:
            await _until_active(
                client,
                "DescribeStreamConsumer",
                {"ConsumerARN": arns[consumer.name]},
                ("ConsumerDescription", "ConsumerStatus"),
            )
        return arns

    async def _create_stream(self, client: InProcessKinesis, stream: StreamSpec) -> str:
        await client.call(
            "CreateStream", {"StreamName": stream.name, "ShardCount": stream.shard_count}
        )
        summary = await _until_active(
            client,
            "DescribeStreamSummary",
            {"StreamName": stream.name},
            ("StreamDescriptionSummary", "StreamStatus"),
        )
        return str(summary["StreamDescriptionSummary"]["StreamARN"])

    async def _start_mapping(self, spec: MappingSpec, arns: Mapping[str, str], seed: int) -> None:
        function = LocalFunction(
            self._template.function(spec.function), on_log=self._on_log, observer=self._observer
        )
        self._stack.push_async_callback(function.stop)
        await function.start()
        mapping = EventSourceMapping(
            spec.config,
            MappingIdentity(
                uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, spec.logical_id)),
                function_name=function.config.name,
                function_arn=function.config.arn,
                invoke_identity_arn=function.config.identity_arn,
                stream_name=spec.stream,
                stream_arn=arns[spec.stream],
                consumer_arn=arns[spec.consumer] if spec.consumer else None,
            ),
            MappingPorts(
                kinesis=InProcessKinesis(self._model, wall_ms, Caller.EVENT_SOURCE_MAPPING),
                invoke=function.invoke,
                wall_ms=wall_ms,
                observer=self._observer,
                rng=random.Random(seed),
            ),
            self._timing,
        )
        task = asyncio.create_task(mapping.run())
        self._stack.push_async_callback(_ended, task)
        self._mappings.append(mapping)
        self._running.append(task)


async def _until_active(
    client: InProcessKinesis, operation: str, request: dict[str, Any], path: tuple[str, str]
) -> dict[str, Any]:
    async with asyncio.timeout(ACTIVE_WITHIN_S):
        while True:
            answer = await client.call(operation, request)
            if answer[path[0]][path[1]] == "ACTIVE":
                return answer
            await asyncio.sleep(0.1)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
