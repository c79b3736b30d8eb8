"""The parking lot that all machines share, behind a network; and who empties it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.errors import StoreUnavailable
from shardlane.parking.answers import Behind, First
from shardlane.parking.lot import ParkingLot
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.redrive import Answer, Redriver, Sent
from shardlane.parking.store import OwnerCheck
from shardlane_lab.virtual_time import wall_ms
from tests.sim.ledger import Ledger
from tests.sim.network import Link

T = TypeVar("T")

LOT_OF = "orders-app"


class Lot(MemoryParkingStore):
    """Knows the lease table, as a transaction on both does, and tells the ledger."""

    def __init__(self, leases: MemoryLeaseTable, ledger: Ledger) -> None:
        super().__init__(owns=self._owns_lease)
        self._leases = leases
        self._ledger = ledger

    def _owns_lease(self, check: OwnerCheck) -> bool:
        row = self._leases.rows.get(check["shard_id"])
        return row is not None and row.held_by(check["me"])

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        answer = super().park_first(gate, record, owner)
        if answer in (First.PARKED, First.ALREADY_PARKED):
            self._told([record])
        return answer

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        answer = super().park_behind(consumer, hash_, records, owner)
        if not answer.gate_missing and not answer.not_owner:
            self._told(records)
        return answer

    def _told(self, records: Sequence[Parked]) -> None:
        for each in records:
            assert each.data is not None
            self._ledger.parked(int(each.data))

    def redrive_all(self, random: Random) -> None:
        """What an operator does now and then; a record of it fails now and then, too."""

        def send(entry: dict[str, Any]) -> Sent:
            number = int(base64.b64decode(entry["kinesis"]["data"]))
            self._ledger.reached("operator", number)
            if random.random() < 0.2:
                return Sent(Answer.FAILED, "trouble")
            self._ledger.settled("operator", number, "redrives")
            return Sent(Answer.HANDLED)

        redriver = Redriver(
            self, LOT_OF, send, timeout_ms=1_000, clock=_AtOnce(), draw=random.random
        )
        for gate in self.gates(LOT_OF):
            redriver.redrive(gate.key_hash)


class FaultyLot:
    """One machine's way to the lot: a call is lost on its way there, or on its way back."""

    blocking = False

    def __init__(self, lot: Lot, link: Link) -> None:
        self._lot = lot
        self._link = link

    def as_lot(self) -> ParkingLot:
        return ParkingLot(consumer=LOT_OF, store=self, max_quarantined=3)  # type: ignore[arg-type]

    def gates(self, consumer: str) -> list[Gate]:
        return self._call(lambda: self._lot.gates(consumer))

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        return self._call(lambda: self._lot.park_first(gate, record, owner))

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        return self._call(lambda: self._lot.park_behind(consumer, hash_, records, owner))

    def fitted(self, record: Parked) -> Parked:
        return record

    def _call(self, call: Callable[[], T]) -> T:
        weather = self._link.weather
        refused = self._link.happens(max(weather.refused, weather.lost_request))
        lost_answer = self._link.happens(weather.lost_answer)
        if refused or self._link.is_cut:
            raise StoreUnavailable("throttled")
        answer = call()
        if lost_answer:
            raise StoreUnavailable("no answer")
        return answer


class _AtOnce:
    wall_ms = staticmethod(wall_ms)

    def monotonic_s(self) -> float:
        return 0.0

    def sleep_s(self, seconds: float) -> None:
        raise AssertionError("the lot itself is always there")
