"""Plain handlers in threads: each thread takes from the desk by itself, so that a record costs no
hop between threads. Only a failed one goes over to the event loop."""

from __future__ import annotations

import asyncio
import threading

from shardlane.attempt import Call, attempt
from shardlane.consumer.crew import TIMER_SLACK_S
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.consumer.reading import Reading
from shardlane.consumer.settlement import Settlement


class ThreadCrew:
    """``count`` daemon threads: a handler that never returns must not keep the process alive."""

    def __init__(self, desk: Desk, settlement: Settlement, call: Call, count: int) -> None:
        self._desk = desk
        self._settlement = settlement
        self._call = call
        self._work_to_do = threading.Condition(desk.lock)
        self._loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[None] = self._loop.create_future()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, name=f"shardlane-worker-{n}", daemon=True)
            for n in range(count)
        ]

    def start(self) -> None:
        self._desk.on_work = self._work_to_do.notify
        self._desk.on_due = self._wake_at
        for thread in self._threads:
            thread.start()

    async def failed(self) -> None:
        await self._failure

    def abandon(self, reading: Reading) -> None:
        """A plain handler cannot be cancelled: it may ask ``record.lease_lost``."""

    async def stop(self) -> None:
        with self._desk.lock:
            self._stopping = True
            self._work_to_do.notify_all()

    # --- inside -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (delivery := self._next()) is not None:
                self._handle(delivery)
        except BaseException as error:  # a thread has nobody else to tell
            self._report(error)

    def _next(self) -> Delivery | None:
        """Waits for something to start; None once stopped."""
        with self._desk.lock:
            while not self._stopping:
                delivery = self._desk.take_locked()
                if delivery is not None:
                    return delivery
                self._work_to_do.wait()
        return None

    def _handle(self, delivery: Delivery) -> None:
        if self._settlement.is_quarantined(delivery):
            parking = self._settlement.park_behind(delivery)
            if not asyncio.run_coroutine_threadsafe(parking, self._loop).result():
                return
        error = attempt(self._call, delivery.record)
        if error is None:
            self._settlement.handled(delivery)
            return
        failed = self._settlement.failed(delivery, error)
        asyncio.run_coroutine_threadsafe(failed, self._loop).result()

    def _wake_at(self, due_s: float) -> None:
        # Called on the event loop, where failures are settled.
        self._loop.call_at(due_s + TIMER_SLACK_S, self._wake)

    def _wake(self) -> None:
        with self._desk.lock:
            self._work_to_do.notify()

    def _report(self, error: BaseException) -> None:
        def tell() -> None:
            if not self._failure.done():
                self._failure.set_exception(error)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(tell)
