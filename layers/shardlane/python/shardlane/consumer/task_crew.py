"""Handlers on the event loop: up to ``count`` worker tasks share the desk."""

from __future__ import annotations

import asyncio
from collections import deque

from shardlane.attempt import Call, attempt, attempt_async
from shardlane.consumer.crew import SLICE_S, TIMER_SLACK_S
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.consumer.reading import Reading
from shardlane.consumer.settlement import Settlement


class TaskCrew:
    """For async handlers; and for plain ones where there are no threads (virtual time), then one
    call blocks all others."""

    def __init__(
        self, desk: Desk, settlement: Settlement, call: Call, count: int, *, plain: bool = False
    ) -> None:
        self._desk = desk
        self._settlement = settlement
        self._call = call
        self._count = count
        self._plain = plain
        self._idle: deque[asyncio.Future[None]] = deque()
        self._running: dict[Delivery, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._slice_ends_s = 0.0
        self._abandoned: set[Delivery] = set()
        """Their handlers were cancelled because their lease is lost."""

    def start(self) -> None:
        self._desk.on_work = self._wake
        self._desk.on_due = self._wake_at
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._count)]

    async def failed(self) -> None:
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    def abandon(self, reading: Reading) -> None:
        for delivery, task in self._running.items():
            if delivery.reading is reading and delivery not in self._abandoned:
                self._abandoned.add(delivery)
                task.cancel()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- inside -----------------------------------------------------------------------------

    async def _work(self) -> None:
        loop, desk = asyncio.get_running_loop(), self._desk
        while True:
            delivery = desk.take()
            if delivery is None:
                await self._rest(loop)
                continue
            error = await self._handle_or_park(delivery)
            if error is not None:
                await self._settlement.failed(delivery, error)
            if loop.time() >= self._slice_ends_s:
                await asyncio.sleep(0)
                self._slice_ends_s = loop.time() + SLICE_S

    async def _handle_or_park(self, delivery: Delivery) -> Exception | None:
        settlement = self._settlement
        if settlement.is_quarantined(delivery) and not await settlement.park_behind(delivery):
            return None
        return await self._handle(delivery)

    async def _handle(self, delivery: Delivery) -> Exception | None:
        """Runs the handler; settles the record unless it failed."""
        task = asyncio.current_task()
        assert task is not None
        self._running[delivery] = task
        try:
            if self._plain:
                error = attempt(self._call, delivery.record)
            else:
                error = await attempt_async(self._call, delivery.record)
        except asyncio.CancelledError:
            self._settlement.forget(delivery)
            if not self._was_abandoned(delivery, task):
                raise  # it is the worker that is to end
            return None
        finally:
            del self._running[delivery]
        self._was_abandoned(delivery, task)  # and did not mind
        if error is None:
            self._settlement.handled(delivery)
        return error

    def _was_abandoned(self, delivery: Delivery, task: asyncio.Task[None]) -> bool:
        """Takes the cancellation of an abandoned handler back; says whether that was all."""
        if delivery not in self._abandoned:
            return False
        self._abandoned.discard(delivery)
        return not task.uncancel()

    async def _rest(self, loop: asyncio.AbstractEventLoop) -> None:
        future = loop.create_future()
        self._idle.append(future)
        await future
        self._slice_ends_s = loop.time() + SLICE_S

    def _wake(self) -> None:
        while self._idle:
            future = self._idle.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _wake_at(self, due_s: float) -> None:
        asyncio.get_running_loop().call_at(due_s + TIMER_SLACK_S, self._wake)
