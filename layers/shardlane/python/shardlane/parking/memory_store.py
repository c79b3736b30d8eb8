"""A parking store in memory: for tests, simulations and trying things out. Nothing survives the
process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from shardlane.errors import ParkingError
from shardlane.parking.answers import Behind, First
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.store import OwnerCheck

_Id = tuple[str, str]


def _owner(check: OwnerCheck) -> bool:
    raise ParkingError("this MemoryParkingStore was given no way to check who owns a lease")


class MemoryParkingStore:
    """Safe for several threads; each method happens at once."""

    blocking = False

    def __init__(self, owns: Callable[[OwnerCheck], bool] = _owner) -> None:
        """``owns`` answers an owner check."""
        self._lock = threading.Lock()
        self._gates: dict[_Id, Gate] = {}
        self._lots: dict[_Id, dict[str, Parked]] = {}
        self._owns = owns

    def gates(self, consumer: str) -> list[Gate]:
        with self._lock:
            return [gate for (owner, _), gate in sorted(self._gates.items()) if owner == consumer]

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        at = (gate.consumer, gate.key_hash)
        with self._lock:
            if owner is not None and not self._owns(owner):
                return First.NOT_OWNER
            if self._is_parked(at, record):
                return First.ALREADY_PARKED
            if self._has_gate(at):
                return First.GATE_EXISTS
            self._gates[at] = gate
            self._lots.setdefault(at, {})[record.place] = record
            return First.PARKED

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        at = (consumer, hash_)
        with self._lock:
            if owner is not None and not self._owns(owner):
                return Behind(not_owner=True)
            already = tuple(
                index for index, each in enumerate(records) if self._is_parked(at, each)
            )
            if already:
                return Behind(already_parked=already)
            if not self._has_gate(at):
                return Behind(gate_missing=True)
            for record in records:
                self._lots.setdefault(at, {})[record.place] = record
            self._bump(at, len(records))
            return Behind()

    def acquire(self, consumer: str, hash_: str, holder: str, now_ms: int, until_ms: int) -> bool:
        at = (consumer, hash_)
        with self._lock:
            gate = self._gates.get(at)
            if gate is None or not self._is_free(gate, now_ms):
                return False
            self._gates[at] = replace(gate, holder=holder, hold_until_ms=until_ms)
            return True

    def gate(self, consumer: str, hash_: str) -> Gate | None:
        with self._lock:
            return self._gates.get((consumer, hash_))

    def parked(self, consumer: str, hash_: str, most: int | None = None) -> list[Parked]:
        with self._lock:
            lot = self._lots.get((consumer, hash_), {})
            return [lot[place] for place in sorted(lot)][:most]

    def lift(self, consumer: str, hash_: str, holder: str, version: int) -> bool:
        at = (consumer, hash_)
        with self._lock:
            if not (self._holds(at, holder) and self._is_at(at, version)):
                return False
            self._gates.pop(at, None)
            return True

    def extend(self, consumer: str, hash_: str, holder: str, until_ms: int) -> bool:
        at = (consumer, hash_)
        with self._lock:
            if not self._holds(at, holder):
                return False
            self._gates[at] = replace(self._gates[at], hold_until_ms=until_ms)
            return True

    def remove(self, record: Parked) -> bool:
        at = (record.consumer, record.key_hash)
        with self._lock:
            if not self._is_same(at, record):
                return False
            self._lots[at].pop(record.place, None)
            return True

    def note_failure(self, record: Parked, reason: str) -> bool:
        at = (record.consumer, record.key_hash)
        with self._lock:
            if not self._is_same(at, record):
                return False
            noted = replace(record, attempts=record.attempts + 1, reason=reason)
            self._lots[at][record.place] = noted
            return True

    def release(self, consumer: str, hash_: str, holder: str) -> bool:
        at = (consumer, hash_)
        with self._lock:
            if not self._holds(at, holder):
                return False
            self._gates[at] = replace(self._gates[at], holder=None, hold_until_ms=None)
            return True

    def fitted(self, record: Parked) -> Parked:
        return record

    def payload(self, record: Parked) -> bytes:
        return record.data if record.data is not None else b""

    # The conditions, one each. Leaving any one out breaks the protocol, which the tests show.

    def _is_parked(self, at: _Id, record: Parked) -> bool:
        return record.place in self._lots.get(at, {})

    def _has_gate(self, at: _Id) -> bool:
        return at in self._gates

    def _bump(self, at: _Id, count: int) -> None:
        gate = self._gates[at]
        self._gates[at] = replace(gate, version=gate.version + 1, count=gate.count + count)

    def _is_free(self, gate: Gate, now_ms: int) -> bool:
        return gate.holder is None or (gate.hold_until_ms or 0) < now_ms

    def _holds(self, at: _Id, holder: str) -> bool:
        gate = self._gates.get(at)
        return gate is not None and gate.holder == holder

    def _is_at(self, at: _Id, version: int) -> bool:
        return self._gates[at].version == version

    def _is_same(self, at: _Id, record: Parked) -> bool:
        found = self._lots.get(at, {}).get(record.place)
        return found is not None and found.rev == record.rev
