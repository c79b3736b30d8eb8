"""Waiting until a time or a signal, whichever comes first."""

from __future__ import annotations

import asyncio

_SHORTEST_MS = 0.001
"""Below the resolution of an epoch in milliseconds: a wait must move the clock, or its loop would
spin in virtual time."""


class Alarm:
    """For one waiter. A signal between two waits is not lost."""

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self._rung = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait_ms(self, timeout_ms: float) -> None:
        """Returns when ``ring`` was called since the last wait, or after ``timeout_ms``."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = None
            if timeout_ms != float("inf"):
                timer = loop.call_later(max(timeout_ms, _SHORTEST_MS) / 1000, self._wake)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._rung = False
