"""Gets a quarantined key moving again: its parked records are handled in order, then the
quarantine is lifted, without a moment in which a new record could overtake a parked one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from shardlane.clock import Clock
from shardlane.parking.parked import Parked
from shardlane.parking.redrive_marker import RedriveMarker, marked
from shardlane.parking.store import ParkingStore

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
        run_id: Callable[[], str] = lambda: os.urandom(8).hex(),
    ) -> None:
        """``timeout_ms``: the consumer's time-out, the longest that ``send`` runs a handler.
        ``run_id``: unique for each redrive of a key."""
        self._store = store
        self._consumer = consumer
        self._send = send
        self._hold_ms = timeout_ms + CLOCK_SKEW_MS
        self._clock = clock
        self._run_id = run_id

    def redrive(self, hash_: str, *, skip_first: bool = False) -> Redriven:
        """Handles the key's parked records until one fails or none is left.

        ``skip_first`` removes the first one unhandled: the caller logs why, and no payload. Raises
        ``StoreUnavailable`` when the store does not answer; the hold then runs out by itself.
        """
        holder = self._run_id()
        now_ms = round(self._clock.wall_ms())
        if not self._store.acquire(self._consumer, hash_, holder, now_ms, now_ms + self._hold_ms):
            there = self._store.gate(self._consumer, hash_) is not None
            return Redriven(End.NOT_HELD if there else End.NOT_QUARANTINED, 0)
        return self._drain(RedriveMarker(self._consumer, hash_, holder), skip_first)

    def _drain(self, marker: RedriveMarker, skip_first: bool) -> Redriven:
        store, hash_, holder = self._store, marker.key_hash, marker.holder
        handled = skipped = 0
        while True:
            # The version is read before the lot: a record parked in between makes the lift fail.
            gate = store.gate(self._consumer, hash_)
            if gate is None or gate.holder != holder:
                return Redriven(End.NOT_HELD, handled, skipped)
            heads = store.parked(self._consumer, hash_, most=1)
            if not heads:
                if store.lift(self._consumer, hash_, holder, gate.version):
                    return Redriven(End.LIFTED, handled, skipped)
                continue
            until_ms = round(self._clock.wall_ms()) + self._hold_ms
            if not store.extend(self._consumer, hash_, holder, until_ms):
                return Redriven(End.NOT_HELD, handled, skipped)
            (head,) = heads
            if skip_first and not skipped:
                store.remove(head)
                skipped = 1
                continue
            sent = self._send(marked(head.event(store.payload(head)), marker))
            if sent.answer is not Answer.HANDLED:
                return self._stopped(marker, head, sent, Redriven(End.FAILED, handled, skipped))
            store.remove(head)
            handled += 1

    def _stopped(
        self, marker: RedriveMarker, head: Parked, sent: Sent, so_far: Redriven
    ) -> Redriven:
        if sent.answer is Answer.UNKNOWN:
            end = End.UNKNOWN
        else:
            end = End.NOT_RUN
            if sent.answer is Answer.FAILED:
                end = End.FAILED
                self._store.note_failure(head, sent.reason)
            self._store.release(self._consumer, marker.key_hash, marker.holder)
        return Redriven(end, so_far.handled, so_far.skipped, sent.reason, head)
