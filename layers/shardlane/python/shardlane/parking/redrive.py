"""Gets a quarantined key moving again: its parked records are handled in order, then the
quarantine is lifted, without a moment in which a new record could overtake a parked one."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from shardlane.clock import Clock
from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.event_entry import RawRecord
from shardlane.parking.parked import Parked
from shardlane.parking.patience import patiently
from shardlane.parking.redrive_marker import RedriveMarker, marked
from shardlane.parking.store import ParkingStore

T = TypeVar("T")

PATIENCE_S = 10.0
"""How long a store that is unavailable is asked again."""

CLOCK_SKEW_MS = 60_000
"""A hold outlasts the consumer function by this: holds are compared with another machine's
clock."""


class Answer(Enum):
    """What came of sending one record to its consumer."""

    HANDLED = "handled"
    FAILED = "failed"
    """The handler ran and failed: counts as an attempt."""
    NOT_RUN = "not run"
    """Refused, throttled, or no function that knows redrives: the record is as before."""
    UNKNOWN = "unknown"
    """No answer: the handler may still be running."""


class Sent(NamedTuple):
    answer: Answer
    reason: str = ""


Send = Callable[[dict[str, Any]], Sent]
"""Runs one marked entry in the consumer that owns the handler."""


class End(Enum):
    """How a redrive of one key ended."""

    LIFTED = "lifted"
    """Every record was handled and the key is processed as usual again."""
    FAILED = "failed"
    NOT_RUN = "not run"
    UNKNOWN = "unknown"
    """The hold stays and runs out by itself."""
    NOT_HELD = "not held"
    """Another redrive holds the key, or has taken it over."""
    NOT_QUARANTINED = "not quarantined"


_ENDS = {
    Answer.FAILED: End.FAILED,
    Answer.NOT_RUN: End.NOT_RUN,
    Answer.UNKNOWN: End.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Redriven:
    """The report on one key."""

    end: End
    handled: int
    skipped: int = 0
    reason: str = ""
    at: Parked | None = None
    """The record at which it stopped."""


class Redriver:
    """Redrives one key at a time. Any number of them may run: the hold admits one for each key."""

    def __init__(
        self,
        store: ParkingStore,
        consumer: str,
        send: Send,
        *,
        timeout_ms: int,
        clock: Clock,
        draw: Callable[[], float] = random.random,
        run_id: Callable[[], str] = lambda: os.urandom(8).hex(),
    ) -> None:
        """``timeout_ms``: the consumer's time-out, the longest that ``send`` runs a handler.
        ``draw``: random in [0, 1), for waits. ``run_id``: unique for each redrive of a key."""
        self._store = store
        self._consumer = consumer
        self._send = send
        self._hold_ms = timeout_ms + CLOCK_SKEW_MS
        self._clock = clock
        self._draw = draw
        self._run_id = run_id

    def redrive(self, hash_: str, *, skip_first: bool = False) -> Redriven:
        """Handles the key's parked records until one fails or none is left.

        ``skip_first`` removes the first one unhandled: the caller logs why, and no payload. Raises
        ``StoreUnavailable`` when the store does not answer; the hold then runs out by itself.
        """
        marker = RedriveMarker(self._consumer, hash_, self._run_id())
        now_ms = round(self._clock.wall_ms())
        if not self._ask(lambda: self._acquired(marker, now_ms)):
            there = self._ask(lambda: self._store.gate(self._consumer, hash_)) is not None
            return Redriven(End.NOT_HELD if there else End.NOT_QUARANTINED, 0)
        return self._drain(marker, skip_first)

    def _acquired(self, marker: RedriveMarker, now_ms: int) -> bool:
        consumer, hash_, holder = marker.consumer, marker.key_hash, marker.holder
        if self._store.acquire(consumer, hash_, holder, now_ms, now_ms + self._hold_ms):
            return True
        # An earlier call of ours may have taken the hold, and its answer was lost.
        gate = self._store.gate(consumer, hash_)
        return gate is not None and gate.holder == holder

    def _drain(self, marker: RedriveMarker, skip_first: bool) -> Redriven:
        store, consumer, hash_, holder = (
            self._store,
            marker.consumer,
            marker.key_hash,
            marker.holder,
        )
        handled = skipped = 0
        emptied = False
        while True:
            # The version is read before the lot: a record parked in between makes the lift fail.
            gate = self._ask(lambda: store.gate(consumer, hash_))
            if gate is None and emptied:
                return Redriven(End.LIFTED, handled, skipped)  # by us: the answer was lost
            if gate is None or gate.holder != holder:
                return Redriven(End.NOT_HELD, handled, skipped)
            head = self._head(marker)
            if head is None:
                emptied = True
                version = gate.version
                if self._ask(lambda: store.lift(consumer, hash_, holder, version)):  # noqa: B023
                    return Redriven(End.LIFTED, handled, skipped)
                continue
            if not self._extended(marker):
                return Redriven(End.NOT_HELD, handled, skipped)
            if skip_first and not skipped:
                skipped = 1
            else:
                sent = self._send(marked(self._event(marker, head), marker))
                if sent.answer is not Answer.HANDLED:
                    return self._stopped(marker, head, sent, handled, skipped)
                handled += 1
            self._ask(lambda: store.remove(head))  # noqa: B023

    def _head(self, marker: RedriveMarker) -> Parked | None:
        heads = self._ask(lambda: self._store.parked(marker.consumer, marker.key_hash, most=1))
        return heads[0] if heads else None

    def _event(self, marker: RedriveMarker, head: Parked) -> RawRecord:
        """Raises ``ParkingError`` if its payload is gone; nothing has run then, so that the next
        redrive need not wait for the end of the hold."""
        try:
            return head.event(self._ask(lambda: self._store.payload(head)))
        except StoreUnavailable:
            raise
        except ParkingError:
            self._ask(lambda: self._store.release(marker.consumer, marker.key_hash, marker.holder))
            raise

    def _extended(self, marker: RedriveMarker) -> bool:
        until_ms = round(self._clock.wall_ms()) + self._hold_ms
        return self._ask(
            lambda: self._store.extend(marker.consumer, marker.key_hash, marker.holder, until_ms)
        )

    def _ask(self, call: Callable[[], T]) -> T:
        until_s = self._clock.monotonic_s() + PATIENCE_S
        return patiently(call, self._clock, until_s, self._draw)

    def _stopped(
        self, marker: RedriveMarker, head: Parked, sent: Sent, handled: int, skipped: int
    ) -> Redriven:
        """The report on a record that was not handled; gives the hold up if nothing runs."""
        end = _ENDS[sent.answer]
        if end is End.FAILED:
            self._ask(lambda: self._store.note_failure(head, sent.reason))
        if end is not End.UNKNOWN:
            self._ask(lambda: self._store.release(marker.consumer, marker.key_hash, marker.holder))
        return Redriven(end, handled, skipped, sent.reason, head)
