"""Parking in a process that goes on: the keys that are quarantined, and the writes that park.

The protocol is that of ``shardlane.parking``. What differs from an invocation: the gates are read
when a lease was taken, before its first delivery, and known from then on, because only this
process quarantines keys of the shards that it holds; and every write checks that the lease is
still its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum
from random import Random
from typing import TypeVar

from shardlane.backoff import Backoff
from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.machine import Machine
from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.parking.answers import First
from shardlane.parking.desk import BEHIND, LostOwnership, ParkingDesk
from shardlane.parking.lot import ParkingLot
from shardlane.parking.store import OwnerCheck, ParkingStore
from shardlane.record import Record

_log = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS = 16
_BACKOFF = Backoff(first_ms=100.0, factor=2.0, most_ms=5_000.0)

OwnerCheckOf = Callable[[str], OwnerCheck | None]
"""The condition that a shard's lease is ours; None where no other process sees the leases."""


class Parking(Enum):
    """What came of parking one delivery."""

    PARKED = "parked"
    LIFTED = "lifted"
    """Its key is not quarantined any more: it is to be handled."""
    UNAVAILABLE = "unavailable"
    """Nobody knows: to be tried again."""
    NOT_OWNER = "not owner"
    """The shard's lease is another's."""


class _InstantClock:
    """For a desk that tries once and never waits: whoever called it tries again, and no thread
    or event loop sleeps meanwhile."""

    def __init__(self, machine: Machine) -> None:
        self.wall_ms = machine.wall_ms

    def monotonic_s(self) -> float:
        return 0.0

    def sleep_s(self, seconds: float) -> None:
        raise RuntimeError("it never waits")


class Quarantine:
    """One parking lot as a subscription sees it. For the event loop."""

    def __init__(self, lot: ParkingLot, machine: Machine) -> None:
        self.lot = lot
        self.keys: set[str] = set()
        """Their records are parked behind one another. A key that is here in error costs a write,
        one that is missing here would break its order."""
        self.owner_check: OwnerCheckOf = _nobody_checks
        self._random: Random = machine.random
        self._machine = machine
        self._pool = DaemonPool("shardlane-parking", _THREADS)
        self._learning = asyncio.Lock()
        self._begun = 0
        self._parkings = 0
        """Times that a T1 has begun or ended."""
        self._under_way = 0
        self._unsure: set[str] = set()
        """Keys of T1s without an answer: one may still arrive."""
        self._refreshing: asyncio.Task[None] | None = None
        self._store: ParkingStore | None = None

    async def learn(self) -> None:
        """Reads which keys are quarantined; returns once it has an answer to a question that was
        asked after this call. Raises ``ParkingError`` if the lot cannot be used."""
        asked = self._begun
        failures = 0
        async with self._learning:
            while self._begun <= asked:  # else another shard's question will do for this one
                known, parkings = frozenset(self.keys), self._parkings
                try:
                    keys = await self._ask(self._quarantined)
                except StoreUnavailable as error:
                    failures += 1
                    _log.warning("which keys are quarantined cannot be read: %s", error)
                    await asyncio.sleep(_BACKOFF.wait_ms(failures, self._random.random()) / 1000)
                else:
                    self._begun += 1
                    self.keys |= keys
                    if not self._under_way and parkings == self._parkings:
                        # Nothing was parked while the answer came: what it lacks was lifted.
                        self.keys -= known - keys - self._unsure

    @property
    def is_full(self) -> bool:
        """Whether so many keys are quarantined that it looks like an outage."""
        return len(self.keys) >= self.lot.max_quarantined

    def look_again(self) -> None:
        """Has ``learn`` forget the keys that others have lifted meanwhile."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())

    async def park_first(self, delivery: Delivery, reason: str) -> Parking:
        """T1, and T2 if the key turns out to be quarantined. Raises ``ParkingError`` if the lot
        refuses the record for good."""
        record = delivery.record
        was_quarantined = record.partition_key in self.keys
        # First of all: whatever the answer, and if there is none, the key may be quarantined now.
        self.keys.add(record.partition_key)
        attempts = delivery.failures

        def park(desk: ParkingDesk) -> bool:
            return desk.park_first(record, reason, attempts) is not First.GATE_EXISTS

        self._parkings += 1
        self._under_way += 1
        try:
            answer = await self._parked(record, park)
        except ParkingError:
            if not was_quarantined:
                self.keys.discard(record.partition_key)  # for nothing was written
            raise
        finally:
            self._parkings += 1
            self._under_way -= 1
        self._note_unsure(record.partition_key, answer)
        if answer is not Parking.LIFTED:
            return answer
        return await self.park_behind(delivery, (), reason, attempts)

    async def park_behind(
        self,
        delivery: Delivery,
        others: Sequence[Delivery] = (),
        reason: str = BEHIND,
        attempts: int = 0,
    ) -> Parking:
        """T2, with the next ones of its key and reading: those that went along are marked as
        parked. A record that the lot refuses waits, and its key with it."""
        record = delivery.record
        together = [delivery, *others]
        settled: list[int] = []

        def park(desk: ParkingDesk) -> bool:
            answer = desk.park_behind([each.record for each in together], reason, attempts)
            settled.extend(answer.indexes)
            return 0 in answer.indexes

        try:
            answer = await self._parked(record, park)
        except ParkingError as error:
            if others:  # it may be one of them that does not fit
                return await self.park_behind(delivery, (), reason, attempts)
            _log.error("%s: cannot park %s: %s", record.shard_id, record.sequence_number, error)
            return Parking.UNAVAILABLE
        for index in settled:
            together[index].parked = True
        if answer is Parking.LIFTED:
            self.keys.discard(record.partition_key)
        if answer is not Parking.UNAVAILABLE:
            self._unsure.discard(record.partition_key)
        return answer

    def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._pool.close()

    # --- inside -----------------------------------------------------------------------------

    async def _parked(self, record: Record, park: Callable[[ParkingDesk], bool]) -> Parking:
        """``park`` returns whether the record is in the lot. Raises ``ParkingError`` for what no
        repetition will cure."""
        owner = self.owner_check(record.shard_id)
        try:
            parked = await self._ask(lambda: park(self._desk(owner)))
        except LostOwnership:
            return Parking.NOT_OWNER
        except StoreUnavailable as error:
            _log.warning(
                "%s: cannot park %s yet: %s", record.shard_id, record.sequence_number, error
            )
            return Parking.UNAVAILABLE
        return Parking.PARKED if parked else Parking.LIFTED

    def _note_unsure(self, key: str, answer: Parking) -> None:
        if answer is Parking.UNAVAILABLE:
            self._unsure.add(key)
        else:
            self._unsure.discard(key)

    async def _refresh(self) -> None:
        try:
            await self.learn()
        except ParkingError as error:
            _log.error("which keys are quarantined cannot be read: %s", error)

    def _quarantined(self) -> set[str]:
        return self._desk(None).quarantined_keys()

    def _desk(self, owner: OwnerCheck | None) -> ParkingDesk:
        clock, draw = _InstantClock(self._machine), self._random.random
        return ParkingDesk(self.lot, clock=clock, until_s=0.0, draw=draw, owner=owner)

    async def _ask(self, call: Callable[[], T]) -> T:
        if self._store is None:
            open_lot = self.lot.open  # makes a client: that takes a while
            self._store = await self._run(open_lot) if self._machine.has_threads else open_lot()
        return await self._run(call) if self._store.blocking else call()

    async def _run(self, call: Callable[[], T]) -> T:
        return await self._pool.run(call)


def _nobody_checks(shard_id: str) -> OwnerCheck | None:
    return None
