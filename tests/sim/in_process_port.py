"""The consumer's port onto the local Kinesis, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis


@contextmanager
def translated(operation: str) -> Iterator[None]:
    """The port's exceptions for the local Kinesis' own."""
    try:
        yield
    except ServiceError as error:
        raise KinesisRefused(error.code, error.message, operation) from error
    except ConnectionError as error:
        raise KinesisUnreachable(f"{operation}: {error}") from error


class InProcessPort:
    """No threads, no sockets. ``service_ms`` is the service's clock."""

    def __init__(self, model: Kinesis, service_ms: Callable[[], float]) -> None:
        self._kinesis = InProcessKinesis(model, service_ms)
        self._service_ms = service_ms

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        with translated(operation):
            return await self._kinesis.call(operation, request)

    async def subscribe(self, request: Mapping[str, Any]) -> InProcessEvents:
        with translated("SubscribeToShard"):
            return InProcessEvents(self._kinesis.subscribe(request))

    def service_ms(self) -> float:
        return self._service_ms()

    async def close(self) -> None:
        """There is nothing to free."""


class InProcessEvents:
    def __init__(self, events: AsyncIterator[dict[str, Any]]) -> None:
        self._events = events

    async def next_event(self) -> Mapping[str, Any] | None:
        with translated("SubscribeToShard"):
            return await anext(self._events, None)

    async def close(self) -> None:
        await self._events.aclose()  # type: ignore[attr-defined]
