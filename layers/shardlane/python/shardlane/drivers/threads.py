"""Several handlers at once, each on a thread, under one lock around the batch."""

from __future__ import annotations

import contextvars
import threading
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any

from shardlane.attempt import Call
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.drivers.effects import carry_out, following, perform
from shardlane.drivers.overrun import park_overrun
from shardlane.keyed_batch import KeyedBatch
from shardlane.steps import Ask, Effects, Run, way_of

if TYPE_CHECKING:
    from shardlane.parking.desk import ParkingDesk


def run_in_threads(
    batch: KeyedBatch,
    call: Call,
    clock: Clock,
    deadline: Deadline,
    desk: ParkingDesk | None,
    workers: int,
) -> None:
    """Runs the batch on up to ``workers`` threads; leaves those behind that overrun.

    A handler that is still running when this returns can settle nothing any more. Raises what a
    handler raised if it was no ``Exception`` (``SystemExit``, ``KeyboardInterrupt``).
    """
    crew = _Crew(batch, call, clock, deadline, desk)
    crew.run(workers)
    if crew.crash is not None:
        raise crew.crash
    for effects in park_overrun(batch, crew.started_s, clock, deadline, desk):
        carry_out(effects, call)


@dataclass(slots=True)
class _Task:
    """A position on its way, and the effect that it waits for."""

    position: int
    effects: Effects
    effect: Run | Ask


class _Crew:
    """Worker threads and the caller, who watches the time."""

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
        self._changed = threading.Condition()
        self._closed = False
        self.crash: BaseException | None = None
        self.started_s: dict[int, float] = {}
        """When each handler that is running now was started, by position."""

    def run(self, workers: int) -> None:
        with self._changed:
            # Taken here, so that one record starts however late it is.
            first = self._taken()
            if first is None:
                return
            try:
                self._hire(min(workers, len(set(self._batch.records.keys))), first)
                while not self._closed:
                    self._watch()
            finally:
                # Whatever ended the watch: a thread that is left behind must not start another
                # record, when the next invocation has the batch already.
                self._close()

    def _hire(self, count: int, first: _Task) -> None:
        """Raises ``RuntimeError`` if the process can have no thread more; with fewer than
        ``count`` the batch only takes longer."""
        for number in range(count):
            thread = threading.Thread(
                target=contextvars.copy_context().run,
                args=(self._work, first if number == 0 else None),
                name=f"shardlane-{number}",
                daemon=True,  # a handler that hangs must not keep the process alive
            )
            try:
                thread.start()
            except RuntimeError:  # handlers that hang in earlier invocations have taken them all
                if number == 0:
                    raise
                return

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

    def _work(self, task: _Task | None) -> None:
        try:
            if task is None:
                with self._changed:
                    task = self._next()
            while task is not None:
                answer = perform(task.effect, self._call)
                with self._changed:
                    task = self._following(task, answer)
        except BaseException as crash:  # raised again on the caller's thread
            with self._changed:
                self.crash = crash
                self._close()

    def _following(self, task: _Task, answer: Any) -> _Task | None:
        """The same task with its next effect, or the next task. Lock held."""
        if self._closed:
            return None  # too late: it has been reported as unsettled
        self.started_s.pop(task.position, None)
        effect = following(task.effects, answer)
        if effect is not None:
            return self._begun(_Task(task.position, task.effects, effect))
        self._changed.notify_all()  # the caller may have to wait for another time now
        return self._next()

    def _next(self) -> _Task | None:
        """The next task, as soon as there is one. Lock held."""
        self._stop_on_time(self._clock.monotonic_s())
        while not self._closed:
            task = self._taken()
            if task is not None:
                return task
            if self._batch.schedule.finished:
                self._close()
                return None
            self._changed.wait()
        return None

    def _taken(self) -> _Task | None:
        position = self._batch.schedule.take()
        if position is None:
            return None
        effects = way_of(self._batch, position, self._desk, self._clock.monotonic_s)
        effect = following(effects, None)
        assert effect is not None  # the way of a record begins with an effect
        return self._begun(_Task(position, effects, effect))

    def _begun(self, task: _Task) -> _Task:
        if isinstance(task.effect, Run):
            self.started_s[task.position] = self._clock.monotonic_s()
        return task

    def _stop_on_time(self, now_s: float) -> None:
        if now_s >= self._deadline.stop_s:
            self._batch.schedule.stop()

    def _close(self) -> None:
        self._closed = True
        self._changed.notify_all()
