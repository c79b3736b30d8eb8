"""Waiting until a time or a signal, whichever comes first."""

from __future__ import annotations

import asyncio


class Bell:
    """For one waiter, on the event loop's thread. A ring between two waits is not lost."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self._rung = True
        self._wake()

    async def wait(self, until_s: float | None = None) -> bool:
        """Returns True once ``ring`` was called since the last wait, or False at ``until_s`` on
        the loop's clock."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = None if until_s is None else loop.call_at(until_s, self._wake)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        rung, self._rung = self._rung, False
        return rung

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
