"""The way of one record: quarantine → handler → verdict → parking.

Written once as a generator of effects: a driver carries each effect out in its own manner (on the
caller's thread, on a worker, on an event loop) and sends back what came of it. Between effects a
driver with threads holds its lock, so everything else here may touch the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from shardlane.errors import ParkingError
from shardlane.keyed_batch import KeyedBatch
from shardlane.policy import Action, Verdict, reason_of
from shardlane.record import Record

if TYPE_CHECKING:
    from shardlane.parking.desk import ParkingDesk, Settled


class Run(NamedTuple):
    """Call the handler; send back what it failed with, or None."""

    record: Record


class Ask(NamedTuple):
    """Make this blocking call of the parking store; send back its answer, or the
    ``ParkingError`` that it raised."""

    call: Callable[[], Any]


Effects = Generator[Run | Ask, Any, None]


def way_of(
    batch: KeyedBatch, position: int, desk: ParkingDesk | None, now_s: Callable[[], float]
) -> Effects:
    """The effects of one position that was taken; at the end it is settled, failed, or waiting
    for its next attempt."""
    record = batch.records.record(position)
    if desk is not None and record.partition_key in batch.quarantined:
        lifted = yield from _park_behind(batch, position, desk.park_behind)
        if not lifted:
            return
    error = yield Run(record)
    if error is None:
        batch.schedule.settle(position)
    else:
        yield from after_failure(batch, position, error, desk, now_s)


def after_failure(
    batch: KeyedBatch,
    position: int,
    error: Exception,
    desk: ParkingDesk | None,
    now_s: Callable[[], float],
) -> Effects:
    """What follows a failed attempt of a position that was taken."""
    verdict = batch.failed(position, error, now_s())
    if verdict.action is Action.PARK and desk is not None:
        yield from park(batch, position, verdict, desk, now_s)


def park(
    batch: KeyedBatch,
    position: int,
    verdict: Verdict,
    desk: ParkingDesk,
    now_s: Callable[[], float],
) -> Effects:
    """T1 for a position that was taken, and T2 if its key turns out to be quarantined."""
    # Here and below, not at the top: most functions never park.
    from shardlane.parking.answers import First

    record, attempts = batch.records.record(position), batch.attempts(position)
    answer = yield Ask(lambda: desk.park_first(record, verdict.reason, attempts))
    if isinstance(answer, ParkingError):
        batch.give_back(position, f"cannot park: {reason_of(answer)}")
        return
    # Before anything else, and also if nothing was written: the key is quarantined now, and a
    # later record of it that ran would overtake this one.
    batch.quarantined.add(record.partition_key)
    if answer is not First.GATE_EXISTS:
        batch.parked(position)
        return
    lifted = yield from _park_behind(
        batch, position, lambda each: desk.park_behind(each, verdict.reason, attempts)
    )
    if lifted:
        batch.schedule.retry_at(position, now_s())


def _park_behind(
    batch: KeyedBatch, position: int, park_behind: Callable[[list[Record]], Settled]
) -> Generator[Run | Ask, Any, bool]:
    """T2 for a position that was taken and the next ones of its key.

    Returns whether the position is to be handled, because the quarantine was lifted."""
    from shardlane.parking.answers import MOST_BEHIND

    positions = batch.schedule.following(position, MOST_BEHIND)
    records = [batch.records.record(each) for each in positions]
    answer = yield Ask(lambda: park_behind(records))
    if isinstance(answer, ParkingError):
        batch.give_back(position, f"cannot park: {reason_of(answer)}")
        return False
    if answer.lifted:
        batch.quarantined.discard(records[0].partition_key)
    settled = [positions[index] for index in answer.indexes]
    batch.parked_behind([each for each in settled if each != position])
    if position in settled:
        batch.parked(position)
        return False
    return bool(answer.lifted)
