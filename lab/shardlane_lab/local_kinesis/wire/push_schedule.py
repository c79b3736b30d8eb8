"""When each subscription of a server has something to send: one timer and one turn of the event
loop for all of them.

A task and a timer for each would cost more than what they send: 200 subscriptions of 100 records
a second each are 20,000 frames a second.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Protocol

from shardlane_lab.local_kinesis.wire.event_frames import EventFrames


class Stepping(Protocol):
    """What is scheduled; ``ready`` and ``timer_s`` belong to the schedule."""

    ready: bool
    """It is in the next turn."""
    timer_s: float
    """On the loop's clock: when it is in a turn at the latest; infinite for "when woken"."""

    def step(self, now_ms: float) -> float:
        """Does what is due; returns the seconds until more is, infinite for "when woken"."""
        ...

    def fail(self) -> None:
        """Called while the exception that ``step`` raised is being handled."""
        ...


class PushSchedule:
    def __init__(self, wall_ms: Callable[[], float]) -> None:
        self.frames = EventFrames()
        """Shared by all that step in one turn."""
        self._wall_ms = wall_ms
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: list[Stepping] = []
        self._turn: asyncio.Handle | None = None
        self._timers: list[tuple[float, int, Stepping]] = []
        """A heap. One whose time is no longer its ``timer_s`` was replaced by an earlier one."""
        self._tie = count()
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def loop_s(self) -> float:
        return self._running_loop().time()

    def wake(self, stepping: Stepping) -> None:
        """It takes a step in this turn of the loop or the next one."""
        if stepping.ready or self._stopped:
            return
        stepping.ready = True
        self._ready.append(stepping)
        if self._turn is None:
            self._turn = self._running_loop().call_soon(self._run)

    def stop(self) -> None:
        """Nothing takes a step after this, whoever is woken."""
        for handle in (self._turn, self._timer):
            if handle is not None:
                handle.cancel()
        self._stopped = True
        self._ready.clear()
        self._timers.clear()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def _run(self) -> None:
        self._turn = None
        ready, self._ready = self._ready, []
        now_ms = self._wall_ms()
        for stepping in ready:
            stepping.ready = False
            try:
                wait_s = stepping.step(now_ms)
            except Exception:  # one broken subscription must not end the others
                stepping.fail()
                continue
            if wait_s != float("inf"):
                self._wait(stepping, wait_s)
        self.frames.forget()
        self._arm()

    def _wait(self, stepping: Stepping, wait_s: float) -> None:
        """An earlier time than asked for may stand: the step then finds nothing and waits on."""
        at_s = self.loop_s() + wait_s
        if at_s < stepping.timer_s:
            stepping.timer_s = at_s
            heapq.heappush(self._timers, (at_s, next(self._tie), stepping))

    def _arm(self) -> None:
        """One timer, for the first of all."""
        first_s = self._timers[0][0] if self._timers else float("inf")
        if self._timer is not None:
            if self._timer.when() <= first_s:
                return
            self._timer.cancel()
            self._timer = None
        if first_s != float("inf"):
            self._timer = self._running_loop().call_at(first_s, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now_s = self.loop_s()
        while self._timers and self._timers[0][0] <= now_s:
            at_s, _, stepping = heapq.heappop(self._timers)
            if at_s == stepping.timer_s:
                stepping.timer_s = float("inf")
                self.wake(stepping)
        self._arm()
