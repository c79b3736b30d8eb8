"""An asyncio event loop whose clock jumps: when every task waits, time moves to the next timer.

The same coroutine code runs on a real loop and here; ten minutes take as long as their callbacks.
Code under it must take time from ``loop.time()`` or ``asyncio.sleep`` and must not start threads
or wait for sockets: nothing outside the loop can wake it. A deadlock (no timer, nothing ready) is
an error that says so instead of a hang.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH_MS = 1_780_000_000_000.0
"""Where the wall clock of a virtual run starts (28 May 2026); any fixed date would do."""


class Deadlock(RuntimeError):
    """Every task waits and no timer is set: time can never move again."""


class _JumpingSelector(selectors.SelectSelector):
    """A selector that never waits: the time it was asked to wait becomes the loop's time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("every task waits and no timer is set; is something awaited for ever?")
        if timeout > 0:
            self.now_s += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """``time()`` starts at 0.0 s and moves only when nothing is ready to run."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        # Two timers closer than this run in one step; a nanosecond keeps distinct events apart.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._jumping.now_s


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Runs ``main`` to its end in virtual time and returns what it returns.

    Tasks that are still there at the end are cancelled, as ``asyncio.run`` does.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def wall_ms() -> float:
    """The wall clock of the running loop in epoch milliseconds: virtual time counts from
    ``EPOCH_MS``."""
    return EPOCH_MS + asyncio.get_running_loop().time() * 1000.0
