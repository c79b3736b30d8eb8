"""A consumer function in virtual time: the real processor with its real drivers, on an event loop
or a clock of the invocation's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from shardlane_lab.virtual_time import EPOCH_MS, VirtualTimeLoop

T = TypeVar("T")


class TimedOut(SystemExit):
    """The sandbox was killed at the function's time-out."""


class InnerLoop:
    """Where async handlers run; its clock jumps. Stands in for a processor's kept loop."""

    def __init__(self) -> None:
        self._loop = VirtualTimeLoop()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(main)

    def time(self) -> float:
        return self._loop.time()

    def advance(self, seconds: float) -> None:
        self._loop._jumping.now_s += seconds

    def kill_at(self, at_s: float) -> asyncio.TimerHandle:
        return self._loop.call_at(at_s, _kill)

    def close(self) -> None:
        """Whatever still runs ends at its await, as if its process had."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()


def _kill() -> None:
    raise TimedOut(1)


class Sandbox:
    """One process of the function. ``clock`` is what its processor and its handlers have."""

    def __init__(self, outer_s: Callable[[], float], timeout_s: float) -> None:
        self.loop = InnerLoop()
        self.closed = False
        self._outer_s = outer_s
        self._timeout_s = timeout_s
        self._begun_s = 0.0

    @property
    def free(self) -> bool:
        """Whether its last invocation has ended by now."""
        return not self.closed and self.loop.time() <= self._outer_s()

    # A clock

    def monotonic_s(self) -> float:
        return self.loop.time()

    def wall_ms(self) -> float:
        return EPOCH_MS + self.monotonic_s() * 1_000.0

    def sleep_s(self, seconds: float) -> None:
        self.loop.advance(seconds)
        if self.spent_s >= self._timeout_s:
            raise TimedOut(1)

    @property
    def spent_s(self) -> float:
        """Of the invocation's time."""
        return self.loop.time() - self._begun_s

    # A context

    def get_remaining_time_in_millis(self) -> float:
        return (self._timeout_s - self.spent_s) * 1_000.0

    def run(self, threads: ThreadPoolExecutor, invocation: Callable[[], T]) -> T:
        """Runs an invocation from now on, in no time of the outer loop's. Raises ``SystemExit``
        if the process ended; the sandbox is closed then.

        On a thread, because a thread runs one event loop at a time.
        """
        self.loop.advance(max(0.0, self._outer_s() - self.loop.time()))
        self._begun_s = self.loop.time()
        timer = self.loop.kill_at(self._begun_s + self._timeout_s)
        try:
            return threads.submit(invocation).result()
        except SystemExit:
            self.close(threads)
            raise
        finally:
            timer.cancel()

    def close(self, threads: ThreadPoolExecutor) -> None:
        if not self.closed:
            self.closed = True
            threads.submit(self.loop.close).result()
