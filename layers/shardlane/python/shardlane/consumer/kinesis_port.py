"""The port to the service: one call, one subscription. Everything blocking is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class EventSource(Protocol):
    """An open SubscribeToShard subscription."""

    async def next_event(self) -> Mapping[str, Any] | None:
        """The next ``SubscribeToShardEvent``; None when the subscription has ended.

        Raises ``KinesisRefused`` for an exception event, ``KinesisUnreachable`` for a stream that
        broke. May be cancelled; the subscription is of no use after that.
        """

    async def close(self) -> None:
        """Ends it. Never waits for the service."""


class KinesisPort(Protocol):
    """Requests and answers as boto3 has them, but for times: epoch seconds as a float."""

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """One call, no retries. Raises ``KinesisRefused`` or ``KinesisUnreachable``."""

    async def subscribe(self, request: Mapping[str, Any]) -> EventSource:
        """SubscribeToShard, up to the answer's head. Raises the same."""

    def service_ms(self) -> float:
        """The service's clock, epoch milliseconds, as the newest answer told it (it may be a
        second behind, never ahead)."""

    async def close(self) -> None:
        """Frees connections and threads, without waiting for calls that are under way."""
