"""One record after the other on the caller's own thread."""

from __future__ import annotations

from shardlane.attempt import Call, attempt
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.keyed_batch import KeyedBatch


def run_inline(batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline) -> None:
    """Runs the batch in stream order and waits in place between attempts.

    The first record starts whatever the time: an invocation that starts nothing would use up the
    mapping's retries.
    """
    schedule, records, now_s = batch.schedule, batch.records, clock.monotonic_s
    position = schedule.take()
    while position is not None:
        error = attempt(call, records[position])
        if error is None:
            schedule.settle(position)
        else:
            batch.failed(position, error, now_s())
            _wait_for_retry(batch, clock, deadline)
        if now_s() >= deadline.stop_s:
            return
        position = schedule.take()


def _wait_for_retry(batch: KeyedBatch, clock: Clock, deadline: Deadline) -> None:
    due_s = batch.schedule.next_due_s()
    if due_s is None:
        return
    if due_s >= deadline.stop_s:
        batch.schedule.stop()  # no time for another attempt: the record is delivered again
        return
    clock.sleep_s(max(0.0, due_s - clock.monotonic_s()))
    batch.schedule.wake(due_s)
