"""Time inside one invocation of a plain handler in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from shardlane_lab.virtual_time import EPOCH_MS


class InvocationClock:
    """A ``Clock`` that starts at the loop's time and moves when somebody sleeps or works.

    A plain handler cannot wait on the loop, so what it takes is added up here; ``pass_time`` then
    lets the loop catch up before the invocation answers.
    """

    def __init__(self, loop_s: Callable[[], float]) -> None:
        """``loop_s``: the virtual loop's time in seconds."""
        self._loop_s = loop_s
        self._begun_s = 0.0
        self._spent_s = 0.0

    def begin(self, not_before_s: float = 0.0) -> None:
        """The invocation starts now, or at ``not_before_s`` if that is later."""
        self._begun_s = max(self._loop_s(), not_before_s)
        self._spent_s = 0.0

    def monotonic_s(self) -> float:
        return self._begun_s + self._spent_s

    def wall_ms(self) -> float:
        return EPOCH_MS + self.monotonic_s() * 1_000.0

    def sleep_s(self, seconds: float) -> None:
        self._spent_s += seconds

    async def pass_time(self) -> None:
        await asyncio.sleep(max(0.0, self.monotonic_s() - self._loop_s()))
