"""The consumer's port onto the local Kinesis, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from shardlane.consumer.errors import KinesisRefused
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis


class InProcessPort:
    """No threads, no sockets. ``service_ms`` is the service's clock."""

    def __init__(self, model: Kinesis, service_ms: Callable[[], float]) -> None:
        self._kinesis = InProcessKinesis(model, service_ms)
        self._service_ms = service_ms

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._kinesis.call(operation, request)
        except ServiceError as error:
            raise KinesisRefused(error.code, error.message, operation) from error

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
    def __init__(self, events: AsyncIterator[dict[str, Any]]) -> None:
        self._events = events

    async def next_event(self) -> Mapping[str, Any] | None:
        try:
            return await anext(self._events, None)
        except ServiceError as error:
            raise KinesisRefused(error.code, error.message, "SubscribeToShard") from error

    async def close(self) -> None:
        await self._events.aclose()  # type: ignore[attr-defined]
