"""Several handlers at once, each on a thread, under one lock around the schedule."""

from __future__ import annotations

import contextvars
import threading
from math import isinf

from shardlane.attempt import Call, attempt
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.keyed_batch import KeyedBatch


def run_in_threads(
    batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline, workers: int
) -> None:
    """Runs the batch on up to ``workers`` threads; leaves those behind that overrun.

    A handler that is still running when this returns can settle nothing any more. Raises what a
    handler raised if it was no ``Exception`` (``SystemExit``, ``KeyboardInterrupt``).
    """
    _Crew(batch, call, clock, deadline).run(workers)


class _Crew:
    """Worker threads and the caller, who watches the time."""

    def __init__(self, batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline) -> None:
        self._batch = batch
        self._call = call
        self._clock = clock
        self._deadline = deadline
        self._changed = threading.Condition()
        self._closed = False
        self._crash: BaseException | None = None

    def run(self, workers: int) -> None:
        with self._changed:
            # Taken here, so that one record starts however late it is.
            first = self._batch.schedule.take()
            if first is None:
                return
            self._hire(min(workers, len(set(self._batch.records.keys))), first)
            while not self._closed:
                self._watch()
        if self._crash is not None:
            raise self._crash

    def _hire(self, count: int, first: int) -> None:
        for number in range(count):
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(self._work, first if number == 0 else None),
                name=f"shardlane-{number}",
                daemon=True,  # a handler that hangs must not keep the process alive
            ).start()

    def _watch(self) -> None:
        """One round of the caller: wakes what is due, stops and leaves on time. Lock held."""
        now_s, schedule = self._clock.monotonic_s(), self._batch.schedule
        self._stop_on_time(now_s)
        schedule.wake(now_s)
        if schedule.finished or now_s >= self._deadline.leave_s:
            self._close()
            return
        self._changed.notify_all()
        self._changed.wait(self._seconds_to_next(now_s))

    def _seconds_to_next(self, now_s: float) -> float | None:
        deadline = self._deadline
        moments = [deadline.stop_s if now_s < deadline.stop_s else deadline.leave_s]
        due_s = self._batch.schedule.next_due_s()
        if due_s is not None:
            moments.append(due_s)
        return None if isinf(min(moments)) else max(0.0, min(moments) - now_s)

    def _work(self, position: int | None) -> None:
        try:
            if position is None:
                with self._changed:
                    position = self._next()
            while position is not None:
                position = self._run(position)
        except BaseException as crash:  # raised again on the caller's thread
            with self._changed:
                self._crash = crash
                self._close()

    def _run(self, position: int) -> int | None:
        """Runs one record and returns the next one to run."""
        error = attempt(self._call, self._batch.records.record(position))
        with self._changed:
            if self._closed:
                return None  # too late: it has been reported as unsettled
            if error is None:
                self._batch.schedule.settle(position)
            else:
                self._batch.failed(position, error, self._clock.monotonic_s())
                self._changed.notify_all()  # the caller waits until the next attempt is due
            return self._next()

    def _next(self) -> int | None:
        """The next position to run, as soon as there is one. Lock held."""
        self._stop_on_time(self._clock.monotonic_s())
        while not self._closed:
            position = self._batch.schedule.take()
            if position is not None:
                return position
            if self._batch.schedule.finished:
                self._close()
                return None
            self._changed.wait()
        return None

    def _stop_on_time(self, now_s: float) -> None:
        if now_s >= self._deadline.stop_s:
            self._batch.schedule.stop()

    def _close(self) -> None:
        self._closed = True
        self._changed.notify_all()
