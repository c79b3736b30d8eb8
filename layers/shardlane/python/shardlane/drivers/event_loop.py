"""Async handlers: up to ``workers`` of them at once on one event loop."""

from __future__ import annotations

import asyncio
from math import isinf

from shardlane.attempt import Call, attempt_async
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.keyed_batch import KeyedBatch

CANCEL_WAIT_S = 0.1
"""For a cancelled handler to clean up; it comes out of the margin."""


async def run_on_loop(
    batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline, workers: int
) -> None:
    """Runs the batch with up to ``workers`` handlers at once; cancels those that overrun."""
    first = batch.schedule.take()
    if first is None:
        return
    count = min(workers, len(set(batch.records.keys)))
    crew = _Crew(batch, call, clock, deadline)
    tasks = [asyncio.create_task(crew.work(first if each == 0 else None)) for each in range(count)]
    left_s = deadline.leave_s - clock.monotonic_s()
    done, late = await asyncio.wait(
        tasks, timeout=None if isinf(left_s) else left_s, return_when=asyncio.FIRST_EXCEPTION
    )
    crew.closed = True
    for task in late:
        task.cancel()
    if late:
        # A handler may refuse to be cancelled; it is left behind, and `closed` keeps it out.
        await asyncio.wait(late, timeout=CANCEL_WAIT_S)
    for task in done:
        task.result()
    if crew.crash is not None:
        raise crew.crash


class _Crew:
    """Worker tasks that share a schedule; nothing else runs between two awaits, so no lock."""

    def __init__(self, batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline) -> None:
        self._batch = batch
        self._call = call
        self._clock = clock
        self._deadline = deadline
        self._changed = asyncio.Event()
        self.closed = False
        self.crash: BaseException | None = None
        """What a handler raised if it was no ``Exception``: in a task it would tear down the loop,
        which outlives the batch."""

    async def work(self, position: int | None) -> None:
        try:
            if position is None:
                position = await self._next()
            while position is not None and not self.closed:
                await self._run(position)
                position = await self._next()
        except (SystemExit, KeyboardInterrupt) as crash:
            self.crash = crash
            self.closed = True
            self._changed.set()

    async def _run(self, position: int) -> None:
        error = await attempt_async(self._call, self._batch.records.record(position))
        if self.closed:
            return  # too late: it has been reported as unsettled
        if error is None:
            self._batch.schedule.settle(position)
        else:
            self._batch.failed(position, error, self._clock.monotonic_s())
        self._changed.set()

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
