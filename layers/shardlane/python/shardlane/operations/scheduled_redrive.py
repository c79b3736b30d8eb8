"""One run of the scheduled redrive: every quarantined key of a consumer that is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.operations.redrive_schedule import RedriveSchedule
from shardlane.parking.parked import Gate
from shardlane.parking.redrive import Answer, End, Redriven, Redriver, Send, Sent
from shardlane.parking.store import ParkingStore

TIME_IS_UP = "the redrive function's own time is up"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one key. Neither the key nor a payload is in it."""

    key_hash: str
    end: str
    handled: int
    reason: str


@dataclass(frozen=True, slots=True)
class RedriveRun:
    """What one run did. ``parked_keys`` and ``oldest_ms`` are of before it."""

    parked_keys: int
    oldest_ms: int | None
    """Since when the oldest quarantine stands, in epoch milliseconds."""
    due: int
    tried: tuple[Tried, ...]

    @property
    def lifted(self) -> int:
        return sum(each.end == End.LIFTED.value for each in self.tried)

    @property
    def handled(self) -> int:
        return sum(each.handled for each in self.tried)

    @property
    def left(self) -> int:
        """Due keys that the time did not suffice for: the next run takes them first."""
        return self.due - len(self.tried)


def redrive_due(
    store: ParkingStore,
    consumer: str,
    redriver: Redriver,
    schedule: RedriveSchedule,
    *,
    now_ms: float,
    has_time: Callable[[], bool],
) -> RedriveRun:
    """Tries each due key once, the longest due first.

    Raises ``StoreUnavailable`` when the table does not answer. What is wrong with one key only
    (a payload that is gone from its bucket, say) is its result, and the others go on.
    """
    gates = store.gates(consumer)
    due = sorted(
        (at_ms, gate.key_hash)
        for gate in gates
        if (at_ms := _due_ms(store, gate, schedule)) <= now_ms
    )
    tried = []
    for _, hash_ in due:
        if not has_time():
            break
        tried.append(_tried(redriver, hash_))
    oldest_ms = min((gate.since_ms for gate in gates), default=None)
    return RedriveRun(len(gates), oldest_ms, len(due), tuple(tried))


def while_time(send: Send, has_time: Callable[[], bool]) -> Send:
    """``send``, as long as there is time to wait for an answer; then the key is let go and the
    next run takes it up."""

    def timed(entry: dict[str, Any]) -> Sent:
        return send(entry) if has_time() else Sent(Answer.NOT_RUN, TIME_IS_UP)

    return timed


def _due_ms(store: ParkingStore, gate: Gate, schedule: RedriveSchedule) -> int:
    heads = store.parked(gate.consumer, gate.key_hash, most=1)
    # A gate without records is what a redrive that ended between its last two steps leaves.
    return schedule.due_ms(heads[0]) if heads else gate.since_ms


def _tried(redriver: Redriver, hash_: str) -> Tried:
    try:
        done: Redriven = redriver.redrive(hash_)
    except StoreUnavailable:
        raise
    except ParkingError as error:
        return Tried(hash_, "error", 0, str(error))
    return Tried(hash_, done.end.value, done.handled, done.reason)
