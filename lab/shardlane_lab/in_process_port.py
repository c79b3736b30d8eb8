"""The library's port to the service onto the local Kinesis in the same process: no threads, no
sockets, so it also runs in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError


class InProcessPort:
    """A ``KinesisPort``. ``service_ms`` is the service's clock, epoch milliseconds."""

    def __init__(self, kinesis: InProcessKinesis, service_ms: Callable[[], float]) -> None:
        self._kinesis = kinesis
        self._service_ms = service_ms

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._kinesis.call(operation, request)
        except ServiceError as error:
            raise KinesisRefused(error.code, error.message, operation) from error
        except ConnectionError as error:
            raise KinesisUnreachable(f"{operation}: {error}") from error

    async def subscribe(self, request: Mapping[str, Any]) -> InProcessEvents:
        try:
            return InProcessEvents(self._kinesis.subscribe(request))
        except ServiceError as error:
            raise KinesisRefused(error.code, error.message, "SubscribeToShard") from error

    def service_ms(self) -> float:
        return self._service_ms()

    async def close(self) -> None:
        """There is nothing to free."""


class InProcessEvents:
    """An ``EventSource``."""

    def __init__(self, events: AsyncIterator[dict[str, Any]]) -> None:
        self._events = events

    async def next_event(self) -> Mapping[str, Any] | None:
        try:
            return await anext(self._events, None)
        except ServiceError as error:
            raise KinesisRefused(error.code, error.message, "SubscribeToShard") from error
        except ConnectionError as error:
            raise KinesisUnreachable(f"SubscribeToShard: {error}") from error

    async def close(self) -> None:
        await cast(Any, self._events).aclose()
