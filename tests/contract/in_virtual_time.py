"""The service in this process, on an event loop whose clock jumps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import EPOCH_MS, VirtualTimeLoop
from tests.contract.service import EventFeed, Refused


class _Feed:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.ended = False
        self.error: Refused | None = None

    async def collect(self, events: AsyncIterator[dict[str, Any]]) -> None:
        try:
            async for event in events:
                self.events.append(event)
        except ServiceError as error:
            self.error = Refused(error.code, error.message)
        except ConnectionError as error:
            self.error = Refused(type(error).__name__, str(error))
        finally:
            self.ended = True


class ServiceInVirtualTime:
    def __init__(self, model: Kinesis) -> None:
        self.model = model
        self._loop = VirtualTimeLoop()
        self._client = InProcessKinesis(model, lambda: self.now_ms)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def now_ms(self) -> float:
        return EPOCH_MS + self._loop.time() * 1000

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        try:
            return self._loop.run_until_complete(self._client.call(operation, request))
        except ServiceError as error:
            raise Refused(error.code, error.message) from error

    def subscribe(self, **request: Any) -> EventFeed:
        return self._loop.run_until_complete(self._subscribe(request))

    async def _subscribe(self, request: dict[str, Any]) -> EventFeed:
        try:
            events = self._client.subscribe(request)
        except ServiceError as error:
            raise Refused(error.code, error.message) from error
        feed = _Feed()
        self._tasks.append(asyncio.get_running_loop().create_task(feed.collect(events)))
        return feed

    def until(self, condition: Callable[[], bool]) -> None:
        self.settle()
        assert condition(), "what was due did not come"

    def settle(self) -> None:
        self.advance(0.000_01)

    def advance(self, seconds: float) -> None:
        self._loop.run_until_complete(asyncio.sleep(seconds))

    def close(self) -> None:
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
