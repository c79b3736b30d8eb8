"""One record after the other on the caller's own thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlane.attempt import Call, attempt
from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.keyed_batch import KeyedBatch

if TYPE_CHECKING:
    from shardlane.parking.desk import ParkingDesk


def run_inline(
    batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline, desk: ParkingDesk | None
) -> None:
    """Runs the batch in stream order and waits in place between attempts.

    The first record starts whatever the time: an invocation that starts nothing would use up the
    mapping's retries.
    """
    error = None
    if not batch.quarantined:
        error = _run_to_first_failure(batch, call, clock, deadline)
        if error is None:
            return
    _run_by_schedule(batch, call, clock, deadline, desk, error)


def _run_by_schedule(
    batch: KeyedBatch,
    call: Call,
    clock: Clock,
    deadline: Deadline,
    desk: ParkingDesk | None,
    error: Exception | None,
) -> None:
    """Runs what is left; ``error`` is what the next record has failed with already."""
    # Not at the top: a batch that goes well does not need them.
    from shardlane.drivers.effects import carry_out
    from shardlane.steps import after_failure, way_of

    now_s = clock.monotonic_s
    while (position := batch.schedule.take()) is not None:
        if error is None:
            effects = way_of(batch, position, desk, now_s)
        else:
            effects = after_failure(batch, position, error, desk, now_s)
            error = None
        carry_out(effects, call)
        _wait_for_retry(batch, clock, deadline)
        if now_s() >= deadline.stop_s:
            return


def _run_to_first_failure(
    batch: KeyedBatch, call: Call, clock: Clock, deadline: Deadline
) -> Exception | None:
    """Runs records until one fails, the time is up or none is left; returns the failure, which is
    that of the next record to be taken.

    One at a time in stream order, no key can get ahead of itself: until something fails, the
    schedule need not be asked.
    """
    record_at, now_s, stop_s = batch.records.record, clock.monotonic_s, deadline.stop_s
    for position in range(len(batch.records)):
        error = attempt(call, record_at(position))
        if error is not None:
            batch.schedule.settle_first(position)
            return error
        if now_s() >= stop_s:
            batch.schedule.settle_first(position + 1)
            return None
    batch.schedule.settle_first(len(batch.records))
    return None


def _wait_for_retry(batch: KeyedBatch, clock: Clock, deadline: Deadline) -> None:
    due_s = batch.schedule.next_due_s()
    if due_s is None:
        return
    if due_s >= deadline.stop_s:
        batch.schedule.stop()  # no time for another attempt: the record is delivered again
        return
    clock.sleep_s(max(0.0, due_s - clock.monotonic_s()))
    batch.schedule.wake(due_s)
