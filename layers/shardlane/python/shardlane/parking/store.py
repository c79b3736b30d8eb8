"""The parking store: the one table that the protocol needs, as a port.

Every method is one read or one conditional write. A write says whether its condition held; that
a key or a hold is no longer there is an answer, not an error. Each method may raise
``StoreUnavailable``, after which the write has happened or not, and ``ParkingError`` for a store
that is not set up.

P0 is what an invocation reads first, T1 and T2 are its two transactions; R1 to R6 are the steps of
a redrive. Between them they keep two invariants: a record in the lot has a gate, and every write
that adds to the lot moves the gate's version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shardlane.parking.answers import Behind, First
from shardlane.parking.parked import Gate, Parked

OwnerCheck = Mapping[str, Any]
"""A ``ConditionCheck`` of TransactWriteItems on the lease row of the caller's shard. A mapping
has no leases, so Lambda passes None; the long-running consumer always passes one."""


class ParkingStore(Protocol):
    """Keys are named by (consumer, hash of the key)."""

    blocking: bool
    """Whether a call may take long enough to be kept off an event loop."""

    def gates(self, consumer: str) -> list[Gate]:
        """P0: every quarantined key of a consumer, consistently read."""

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        """T1: puts the record if it is not there, and the gate if it is not there, or nothing."""

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        """T2: puts the records if none is there, and moves the gate's version if it is there, or
        nothing. At most ``MOST_BEHIND`` records of one key."""

    def acquire(self, consumer: str, hash_: str, holder: str, now_ms: int, until_ms: int) -> bool:
        """R1: takes the hold if the gate exists and nobody holds it at ``now_ms``."""

    def gate(self, consumer: str, hash_: str) -> Gate | None:
        """R2: the gate, consistently read."""

    def parked(self, consumer: str, hash_: str, most: int | None = None) -> list[Parked]:
        """R2: the first ``most`` records of the key in order, consistently read."""

    def lift(self, consumer: str, hash_: str, holder: str, version: int) -> bool:
        """R3: deletes the gate if ``holder`` holds it and nothing was parked since ``version``."""

    def extend(self, consumer: str, hash_: str, holder: str, until_ms: int) -> bool:
        """R4: moves the end of the hold if ``holder`` holds it."""

    def remove(self, record: Parked) -> bool:
        """R6: deletes the record, and its stored payload, if its ``rev`` is still the same."""

    def note_failure(self, record: Parked, reason: str) -> bool:
        """R6: counts a failed attempt of a redrive, if its ``rev`` is still the same."""

    def release(self, consumer: str, hash_: str, holder: str) -> bool:
        """R6: gives the hold up if ``holder`` holds it."""

    def fitted(self, record: Parked) -> Parked:
        """The record as it fits into the table: a large payload is stored elsewhere first.

        Raises ``PayloadTooLarge`` if there is nowhere else."""

    def payload(self, record: Parked) -> bytes:
        """The record's data, wherever it is."""
