from __future__ import annotations

from typing import Any

import pytest

from shardlane import ParkingLot, Record
from shardlane.errors import StoreUnavailable
from shardlane.parking.answers import MOST_BEHIND_BYTES, Behind, First
from shardlane.parking.desk import BEHIND, LostOwnership, ParkingDesk, Settled
from shardlane.parking.memory_store import MemoryParkingStore
from tests.unit.shardlane.entries import SHARD, sequence
from tests.unit.shardlane.parking.hooked_store import Outage
from tests.unit.shardlane.parking.lots import ALICE, CONSUMER
from tests.unit.shardlane.stepped_clock import SteppedClock


def record(position: int, key: str = "alice", data: bytes = b"{}") -> Record:
    return Record(
        stream="order-events",
        shard_id=SHARD,
        sequence_number=sequence(position),
        partition_key=key,
        data=data,
        arrival_ms=1,
    )


def desk(
    store: Any, clock: SteppedClock | None = None, until_s: float = 2_000.0, **more: Any
) -> ParkingDesk:
    lot = ParkingLot(consumer=CONSUMER, store=store)
    return ParkingDesk(
        lot, clock=clock or SteppedClock(), until_s=until_s, draw=lambda: 0.5, **more
    )


def places(store: MemoryParkingStore) -> list[str]:
    return [each.sequence_number for each in store.parked(CONSUMER, ALICE)]


def test_parks_first_and_then_behind() -> None:
    store = MemoryParkingStore()
    assert desk(store).park_first(record(0), "boom", 3) is First.PARKED
    assert desk(store).quarantined_keys() == {"alice"}
    settled = desk(store).park_behind([record(1), record(2)])
    assert settled == Settled(indexes=(0, 1), lifted=False)
    lot = store.parked(CONSUMER, ALICE)
    assert [(each.sequence_number, each.reason, each.attempts) for each in lot] == [
        (sequence(0), "boom", 3),
        (sequence(1), BEHIND, 0),
        (sequence(2), BEHIND, 0),
    ]


def test_replays_count_as_settled() -> None:
    store = MemoryParkingStore()
    desk(store).park_first(record(0), "boom", 3)
    desk(store).park_behind([record(1), record(2)])
    settled = desk(store).park_behind([record(each) for each in range(5)])
    assert settled == Settled(indexes=(0, 1, 2, 3, 4), lifted=False)
    assert places(store) == [sequence(each) for each in range(5)]


def test_a_lifted_quarantine_leaves_the_records_to_the_handler() -> None:
    assert desk(MemoryParkingStore()).park_behind([record(0), record(1)]) == Settled((), True)


def test_replays_are_settled_even_if_the_quarantine_was_lifted_meanwhile() -> None:
    class Lifting(MemoryParkingStore):
        def park_behind(self, *args: Any) -> Behind:
            answer = super().park_behind(*args)
            self._gates.clear()  # a redriver, between the first transaction and the second
            return answer

    store = Lifting()
    desk(store).park_first(record(0), "boom", 3)
    assert desk(store).park_behind([record(0), record(1)]) == Settled(indexes=(0,), lifted=True)


def test_a_transaction_takes_as_many_bytes_as_fit_and_at_least_one_record() -> None:
    store = MemoryParkingStore()
    desk(store).park_first(record(0), "boom", 3)
    half = b"x" * (MOST_BEHIND_BYTES // 2)
    records = [record(1, data=half), record(2, data=half), record(3, data=b"x")]
    assert desk(store).park_behind(records) == Settled(indexes=(0, 1), lifted=False)
    too_large = [record(4, data=half * 3), record(5)]
    assert desk(store).park_behind(too_large) == Settled(indexes=(0,), lifted=False)


@pytest.mark.parametrize("failure", ["park_first", "late_park_first"])
def test_t1_is_repeated_until_the_store_answers(failure: str) -> None:
    outage, clock = Outage(**{failure: 3}), SteppedClock()
    answer = desk(outage.store, clock).park_first(record(0), "boom", 3)
    # Had it happened without an answer, the repetition finds the record: a replay of our own.
    assert answer is (First.PARKED if failure == "park_first" else First.ALREADY_PARKED)
    assert len(clock.slept_s) == 3
    assert places(outage.memory) == [sequence(0)]


@pytest.mark.parametrize("failure", ["park_behind", "late_park_behind"])
def test_t2_is_repeated_until_the_store_answers(failure: str) -> None:
    outage = Outage(**{failure: 1})
    desk(outage.store).park_first(record(0), "boom", 3)
    assert desk(outage.store).park_behind([record(1), record(2)]) == Settled((0, 1), False)
    assert places(outage.memory) == [sequence(0), sequence(1), sequence(2)]


def test_patience_ends_with_the_deadline() -> None:
    outage, clock = Outage(gates=10**6), SteppedClock()
    with pytest.raises(StoreUnavailable, match="throttled"):
        desk(outage.store, clock, until_s=clock.now_s + 20).quarantined_keys()
    assert 15 < sum(clock.slept_s) < 20


def test_another_end_of_patience() -> None:
    outage, clock = Outage(park_first=5), SteppedClock()
    impatient = desk(outage.store, clock, until_s=clock.now_s)
    with pytest.raises(StoreUnavailable):
        impatient.park_first(record(0), "boom", 1)
    assert impatient.until(clock.now_s + 60).park_first(record(0), "boom", 1) is First.PARKED


def test_who_lost_the_lease_is_told() -> None:
    store = MemoryParkingStore(owns=lambda check: False)
    late = desk(store, owner={"TableName": "leases"})
    with pytest.raises(LostOwnership):
        late.park_first(record(0), "boom", 1)
    with pytest.raises(LostOwnership):
        late.park_behind([record(0)])
    assert places(store) == []
