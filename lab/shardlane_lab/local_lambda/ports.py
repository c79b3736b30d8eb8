"""What a mapping needs of the world: small protocols, implemented by the local services, by AWS'
own clients, or by a test's own function in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from shardlane_lab.local_lambda.invoke_result import InvokeResult

Invoke = Callable[[dict[str, Any]], Awaitable[InvokeResult]]
"""Runs the function with an event; raises ``InvocationRefused`` if the service would not."""
Destination = Callable[[dict[str, Any]], Awaitable[None]]
"""Takes an on-failure message; any exception counts as not delivered."""
WallClock = Callable[[], float]
"""Epoch milliseconds."""


class Kinesis(Protocol):
    """Requests and answers as boto3 shows them, time-stamps as seconds. Both raise
    ``ServiceError``."""

    async def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]: ...

    def subscribe(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Opens the subscription at once and returns its events."""
        ...
