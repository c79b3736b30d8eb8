"""The parking side of one invocation: P0, T1 and T2, repeated while the store is unavailable."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from shardlane.clock import Clock
from shardlane.errors import StoreUnavailable
from shardlane.parking.answers import MOST_BEHIND_BYTES, First
from shardlane.parking.lot import ParkingLot
from shardlane.parking.parked import Gate, Parked, parked_of
from shardlane.parking.patience import patiently
from shardlane.parking.place import key_hash, place_of
from shardlane.parking.store import OwnerCheck
from shardlane.record import Record

T = TypeVar("T")

BEHIND = "its key is quarantined"
"""The reason of a record that was parked without having been tried."""


class Settled(NamedTuple):
    """What came of parking records behind their key."""

    indexes: tuple[int, ...]
    """Which of them are in the lot now."""
    lifted: bool
    """Whether the quarantine is over: the others are to be handled, in order."""


class LostOwnership(StoreUnavailable):
    """The shard belongs to another owner now; nothing was written and nothing will be."""


class ParkingDesk:
    """Calls the lot's store until it answers or ``until_s`` has come.

    Every method raises ``StoreUnavailable`` when the time is up, and ``ParkingError`` for a lot
    that is not set up. It keeps no state but the lot's, so several threads may use it.
    """

    def __init__(
        self,
        lot: ParkingLot,
        *,
        clock: Clock,
        until_s: float,
        draw: Callable[[], float],
        owner: OwnerCheck | None = None,
    ) -> None:
        """``until_s`` on the monotonic clock; ``draw`` is random in [0, 1), for the waits."""
        self.lot = lot
        self._store = lot.open()
        self._clock = clock
        self._until_s = until_s
        self._draw = draw
        self._owner = owner
        self.oldest_ms: int | None = None
        """Since when the oldest quarantined key is, as ``quarantined_keys`` found it."""

    def until(self, until_s: float) -> ParkingDesk:
        """The same desk with another end of its patience."""
        return ParkingDesk(
            self.lot, clock=self._clock, until_s=until_s, draw=self._draw, owner=self._owner
        )

    @property
    def blocking(self) -> bool:
        return self._store.blocking

    def quarantined_keys(self) -> set[str]:
        """P0: must be known before anything starts, because an earlier record of any key may be
        parked."""
        gates = self._patiently(lambda: self._store.gates(self.lot.consumer))
        self.oldest_ms = min((gate.since_ms for gate in gates), default=None)
        return {gate.key for gate in gates}

    def park_first(self, record: Record, reason: str, attempts: int) -> First:
        """T1. The caller treats the key as quarantined whatever the answer: the record is in the
        lot, or the gate was there before."""
        parked = self._fitted(record, reason, attempts)
        gate = Gate(
            consumer=self.lot.consumer,
            key=record.partition_key,
            version=1,
            since_ms=parked.parked_ms,
            reason=reason,
        )
        answer = self._patiently(lambda: self._store.park_first(gate, parked, self._owner))
        if answer is First.NOT_OWNER:
            raise LostOwnership("the lease of this shard is no longer ours")
        return answer

    def park_behind(
        self, records: Sequence[Record], reason: str = BEHIND, attempts: int = 0
    ) -> Settled:
        """T2 with records of one key, in order; takes as many from the first on as fit into one
        transaction, and says which they are. ``reason`` and ``attempts`` are the first one's."""
        fitted = self._taken(records, reason, attempts)
        hash_ = key_hash(records[0].partition_key)
        left = dict(enumerate(fitted))
        while left:
            batch = list(left.values())
            answer = self._patiently(
                lambda batch=batch: self._store.park_behind(  # type: ignore[misc]
                    self.lot.consumer, hash_, batch, self._owner
                )
            )
            if answer.not_owner:
                raise LostOwnership("the lease of this shard is no longer ours")
            if answer.gate_missing:
                return Settled(
                    tuple(index for index in range(len(fitted)) if index not in left), True
                )
            if not answer.already_parked:
                break
            indexes = list(left)
            for each in answer.already_parked:
                del left[indexes[each]]  # a replay of a transaction that went through before
        return Settled(tuple(range(len(fitted))), False)

    def _taken(self, records: Sequence[Record], reason: str, attempts: int) -> list[Parked]:
        taken: list[Parked] = []
        places: set[str] = set()
        room_bytes = MOST_BEHIND_BYTES
        for record in records:
            place = place_of(record.sequence_number, record.sub_sequence_number)
            if place in places:
                break  # delivered twice: a transaction may write an item only once
            places.add(place)
            parked = self._fitted(record, reason, attempts)
            reason, attempts = BEHIND, 0
            room_bytes -= len(parked.data or b"")
            if taken and room_bytes < 0:
                break
            taken.append(parked)
        return taken

    def _fitted(self, record: Record, reason: str, attempts: int) -> Parked:
        parked = parked_of(
            record,
            consumer=self.lot.consumer,
            reason=reason,
            attempts=attempts,
            now_ms=self._clock.wall_ms(),
            rev=os.urandom(8).hex(),
        )
        return self._patiently(lambda: self._store.fitted(parked))

    def _patiently(self, call: Callable[[], T]) -> T:
        return patiently(call, self._clock, self._until_s, self._draw)
