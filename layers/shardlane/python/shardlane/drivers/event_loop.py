"""Async handlers: up to ``workers`` of them at once on one event loop."""

from __future__ import annotations

import asyncio
from math import isinf
from typing import TYPE_CHECKING, Any

from shardlane.attempt import Call, attempt_async
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.drivers.effects import ask, following
from shardlane.drivers.overrun import park_overrun
from shardlane.keyed_batch import KeyedBatch
from shardlane.steps import Effects, Run, way_of

if TYPE_CHECKING:
    from shardlane.parking.desk import ParkingDesk

CANCEL_WAIT_S = 0.1
"""For a cancelled handler to clean up; it comes out of the margin."""


async def run_on_loop(
    batch: KeyedBatch,
    call: Call,
    clock: Clock,
    deadline: Deadline,
    desk: ParkingDesk | None,
    workers: int,
) -> None:
    """Runs the batch with up to ``workers`` handlers at once; cancels those that overrun."""
    first = batch.schedule.take()
    if first is None:
        return
    count = min(workers, len(set(batch.records.keys)))
    crew = _Crew(batch, call, clock, deadline, desk)
    tasks = [asyncio.create_task(crew.work(first if each == 0 else None)) for each in range(count)]
    left_s = deadline.leave_s - clock.monotonic_s()
    done, late = await asyncio.wait(
        tasks, timeout=None if isinf(left_s) else left_s, return_when=asyncio.FIRST_EXCEPTION
    )
    crew.closed = True
    overrun = dict(crew.started_s)
    await _cancel(late)
    for task in done:
        task.result()
    if crew.crash is not None:
        raise crew.crash
    for effects in park_overrun(batch, overrun, clock, deadline, desk):
        await crew.carry_out(effects)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        # A handler may refuse to be cancelled; it is left behind, and `closed` keeps it out.
        await asyncio.wait(tasks, timeout=CANCEL_WAIT_S)


class _Crew:
    """Worker tasks that share a batch; nothing else runs between two awaits, so no lock."""

    def __init__(
        self,
        batch: KeyedBatch,
        call: Call,
        clock: Clock,
        deadline: Deadline,
        desk: ParkingDesk | None,
    ) -> None:
        self._batch = batch
        self._call = call
        self._clock = clock
        self._deadline = deadline
        self._desk = desk
        self._changed = asyncio.Event()
        self.closed = False
        self.crash: BaseException | None = None
        """What a handler raised if it was no ``Exception``: in a task it would tear down the loop,
        which outlives the batch."""
        self.started_s: dict[int, float] = {}
        """When each handler that is running now was started, by position."""

    async def work(self, position: int | None) -> None:
        try:
            if position is None:
                position = await self._next()
            while position is not None and not self.closed:
                await self._run(position)
                self._changed.set()
                position = await self._next()
        except (SystemExit, KeyboardInterrupt) as crash:
            self.crash = crash
            self.closed = True
            self._changed.set()

    async def carry_out(self, effects: Effects) -> None:
        """All effects that are not the handler's."""
        answer = None
        while (effect := following(effects, answer)) is not None:
            assert not isinstance(effect, Run)  # nothing is run for a record that overran
            answer = await self._asked(effect)

    async def _run(self, position: int) -> None:
        effects = way_of(self._batch, position, self._desk, self._clock.monotonic_s)
        answer = None
        while (effect := following(effects, answer)) is not None:
            if isinstance(effect, Run):
                self.started_s[position] = self._clock.monotonic_s()
                answer = await attempt_async(self._call, effect.record)
                del self.started_s[position]
            else:
                answer = await self._asked(effect)
            if self.closed:
                return  # too late: it has been reported as unsettled

    async def _asked(self, effect: Any) -> Any:
        if self._desk is not None and self._desk.blocking:
            return await asyncio.to_thread(ask, effect)
        return ask(effect)

    async def _next(self) -> int | None:
        """The next position to run, as soon as there is one."""
        schedule = self._batch.schedule
        while not self.closed:
            now_s = self._clock.monotonic_s()
            if now_s >= self._deadline.stop_s:
                return None
            schedule.wake(now_s)
            position = schedule.take()
            if position is not None:
                return position
            if schedule.finished:
                self._changed.set()
                return None
            await self._wait(schedule.next_due_s(), now_s)
        return None

    async def _wait(self, due_s: float | None, now_s: float) -> None:
        """Until something changed or an attempt is due."""
        self._changed.clear()
        timeout_s = None if due_s is None else max(0.0, due_s - now_s)
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return
