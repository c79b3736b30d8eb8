"""The local Kinesis behind a network: refusals, silence, streams that break or end early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis
from tests.sim.ledger import Ledger
from tests.sim.network import WORLD_CONTEXT, Link

TIMEOUT_S = 3.0
_REFUSALS = (
    "ProvisionedThroughputExceededException",
    "InternalFailureException",
    "ExpiredIteratorException",
)
_ENDS = ("end", "break", "silence", "truncate")


class FaultyKinesis:
    """One process's ``KinesisPort``."""

    def __init__(
        self,
        model: Kinesis,
        service_ms: Callable[[], float],
        link: Link,
        ledger: Ledger,
        owner: str,
    ) -> None:
        self._model = model
        self._service_ms = service_ms
        self._link = link
        self._ledger = ledger
        self._owner = owner
        self._shard_of: dict[str, str] = {}
        """Iterator → shard, for counting reads."""

    def service_ms(self) -> float:
        return self._service_ms()

    async def close(self) -> None:
        """There is nothing to free."""

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if operation == "GetRecords":
            self._ledger.read(self._owner, self._shard_of[request["ShardIterator"]])
        code = self._link.random.choice(_REFUSALS)
        if code == "ExpiredIteratorException" and operation != "GetRecords":
            code = "InternalFailureException"
        if self._link.happens(self._link.weather.refused):
            raise KinesisRefused(code, "bad weather", operation)
        answer = await self._link.ask(
            lambda: self._answer(operation, request), _timed_out, TIMEOUT_S
        )
        if isinstance(answer, Exception):
            raise answer
        self._remember(operation, request, answer)
        return answer

    async def subscribe(self, request: Mapping[str, Any]) -> Pipe:
        if self._link.happens(self._link.weather.refused):
            raise KinesisRefused("InternalFailureException", "bad weather", "SubscribeToShard")
        answer = await self._link.ask(lambda: self._open(request), _no_pipe, TIMEOUT_S)
        if isinstance(answer, Exception):
            raise answer
        return answer

    # --- inside -----------------------------------------------------------------------------

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any] | Exception:
        try:
            return self._model.call(operation, request, self._service_ms())
        except ServiceError as error:
            return KinesisRefused(error.code, error.message, operation)

    def _remember(
        self, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> None:
        if operation == "GetShardIterator":
            self._shard_of[answer["ShardIterator"]] = request["ShardId"]
        elif operation == "GetRecords":
            shard_id = self._shard_of[request["ShardIterator"]]
            if answer.get("NextShardIterator"):
                self._shard_of[answer["NextShardIterator"]] = shard_id

    def _open(self, request: Mapping[str, Any]) -> Pipe | Exception:
        kinesis = InProcessKinesis(self._model, self._service_ms)
        try:
            events = kinesis.subscribe(request)
        except ServiceError as error:
            return KinesisRefused(error.code, error.message, "SubscribeToShard")
        return Pipe(events, self._link)


def _timed_out() -> Exception:
    return KinesisUnreachable("no answer")


_no_pipe = _timed_out


class Pipe:
    """An open subscription. A task of the world reads it, so that a frozen machine finds what was
    on its way; it holds a few events, as a socket does."""

    def __init__(self, events: Any, link: Link) -> None:
        self._events = events
        self._link = link
        self._queue: asyncio.Queue[Mapping[str, Any] | Exception | None] = asyncio.Queue(3)
        loop = asyncio.get_running_loop()
        self._pump = loop.create_task(self._run(), context=WORLD_CONTEXT.copy())

    async def next_event(self) -> Mapping[str, Any] | None:
        found = await self._queue.get()
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self) -> None:
        self._pump.cancel()

    async def _run(self) -> None:
        try:
            await self._forward()
        finally:
            await self._events.aclose()

    async def _forward(self) -> None:
        while True:
            try:
                event = await anext(self._events, None)
            except ServiceError as error:
                refused = KinesisRefused(error.code, error.message, "SubscribeToShard")
                await self._queue.put(refused)
                return
            await asyncio.sleep(self._link.random.uniform(0.001, 0.02))
            fault = self._link.random.choice(_ENDS)
            if self._link.is_cut:
                fault = "silence"
            elif not self._link.happens(self._link.weather.broken_stream):
                fault = ""
            if fault == "silence":
                await asyncio.Event().wait()  # half-open: it says nothing any more
            if fault == "truncate":
                event = None  # half a frame and a clean end: the event is lost without an error
            if fault == "break":
                await self._queue.put(KinesisUnreachable("the connection was cut"))
                return
            await self._queue.put(event)
            if event is None or fault == "end":
                await self._queue.put(None)
                return
