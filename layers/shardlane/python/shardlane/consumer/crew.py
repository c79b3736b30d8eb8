"""Who runs handlers: what every driver of the lanes has in common."""

from __future__ import annotations

from typing import Protocol

from shardlane.consumer.reading import Reading

TIMER_SLACK_S = 0.0001
"""A timer may fire a rounding error early; what is due must be due when it is looked at."""
SLICE_S = 0.005
"""How long handlers that never wait may keep the event loop from everything else: leases are
renewed on it."""


class Crew(Protocol):
    """Started once, stopped once."""

    def start(self) -> None: ...

    async def failed(self) -> None:
        """Waits until a driver dies, and raises what it died of."""

    def abandon(self, reading: Reading) -> None:
        """The lease is lost: handlers that can be cancelled are."""

    async def stop(self) -> None:
        """No handler is started any more; one that still runs is cancelled, or left behind."""
