"""What every parking store promises: each condition of the protocol, one test each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardlane.parking.answers import MOST_BEHIND, Behind, First
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.place import key_hash
from shardlane.parking.store import ParkingStore
from tests.unit.shardlane.entries import SHARD, sequence
from tests.unit.shardlane.parking.lots import (
    ALICE,
    CONSUMER,
    LEASES,
    gate,
    parked,
)

ME_OWNS = {
    "TableName": LEASES,
    "Key": {"leaseKey": {"S": SHARD}},
    "ConditionExpression": "leaseOwner = :me",
    "ExpressionAttributeValues": {":me": {"S": "me"}},
}


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> ParkingStore:
    if request.param == "memory":
        return MemoryParkingStore(owns=lambda check: False)
    found: ParkingStore = request.getfixturevalue("dynamodb")
    return found


@pytest.fixture
def quarantined(store: ParkingStore) -> ParkingStore:
    """A store in which alice's record 0 is parked."""
    assert store.park_first(gate(), parked(0)) is First.PARKED
    return store


@pytest.fixture
def held(quarantined: ParkingStore) -> ParkingStore:
    """… and redriver me holds her until 5,000."""
    assert quarantined.acquire(CONSUMER, ALICE, "me", 1_000, 5_000)
    return quarantined


# P0


def test_an_empty_table_quarantines_nobody(store: ParkingStore) -> None:
    assert store.gates(CONSUMER) == []


def test_the_gates_are_those_of_one_consumer(quarantined: ParkingStore) -> None:
    other = replace(gate("bob"), consumer="shipping")
    quarantined.park_first(other, parked(1, "bob", consumer="shipping"))
    quarantined.park_first(gate("carol"), parked(2, "carol"))
    assert sorted(each.key for each in quarantined.gates(CONSUMER)) == ["alice", "carol"]


def test_every_page_of_gates_is_read(store: ParkingStore) -> None:
    # A page of a query is 1 MB: 30 gates whose keys are long do not fit.
    keys = [f"{number}-{'k' * 1_000}" for number in range(30)]
    reason = "x" * 40_000
    for number, key in enumerate(keys):
        store.park_first(gate(key, reason=reason), parked(number, key))
    assert sorted(each.key for each in store.gates(CONSUMER)) == sorted(keys)


# T1


def test_t1_parks_the_record_and_makes_the_gate(quarantined: ParkingStore) -> None:
    assert quarantined.gate(CONSUMER, ALICE) == gate()
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0)]


def test_t1_does_not_replace_a_parked_record(quarantined: ParkingStore) -> None:
    replay = parked(0, rev="other", attempts=9)
    assert quarantined.park_first(gate(), replay) is First.ALREADY_PARKED
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0)]


def test_t1_does_not_replace_a_gate(held: ParkingStore) -> None:
    before = held.gate(CONSUMER, ALICE)
    assert held.park_first(gate(), parked(1)) is First.GATE_EXISTS
    assert held.gate(CONSUMER, ALICE) == before
    assert held.parked(CONSUMER, ALICE) == [parked(0)]


# T2


def test_t2_parks_behind_and_moves_the_version(quarantined: ParkingStore) -> None:
    assert quarantined.park_behind(CONSUMER, ALICE, [parked(1), parked(2)]) == Behind()
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0), parked(1), parked(2)]
    assert quarantined.gate(CONSUMER, ALICE) == gate(version=2, count=3)


def test_t2_takes_as_many_records_as_it_says(quarantined: ParkingStore) -> None:
    records = [parked(position) for position in range(1, 1 + MOST_BEHIND)]
    assert quarantined.park_behind(CONSUMER, ALICE, records) == Behind()
    assert len(quarantined.parked(CONSUMER, ALICE)) == 1 + MOST_BEHIND


def test_t2_names_the_records_that_are_there_and_writes_nothing(quarantined: ParkingStore) -> None:
    answer = quarantined.park_behind(CONSUMER, ALICE, [parked(1), parked(0, rev="other")])
    assert answer == Behind(already_parked=(1,))
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0)]
    assert quarantined.gate(CONSUMER, ALICE) == gate()


def test_t2_parks_nothing_without_a_gate(store: ParkingStore) -> None:
    assert store.park_behind(CONSUMER, ALICE, [parked(1)]) == Behind(gate_missing=True)
    assert store.parked(CONSUMER, ALICE) == []
    assert store.gate(CONSUMER, ALICE) is None


# The owner check of a long-running consumer


def test_who_does_not_own_the_lease_parks_nothing(quarantined: ParkingStore) -> None:
    answer = quarantined.park_first(gate("bob"), parked(1, "bob"), ME_OWNS)
    assert answer is First.NOT_OWNER
    assert quarantined.park_behind(CONSUMER, ALICE, [parked(1)], ME_OWNS) == Behind(not_owner=True)
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0)]
    assert quarantined.gate(CONSUMER, key_hash("bob")) is None


# R1


def test_r1_takes_a_free_hold(held: ParkingStore) -> None:
    found = held.gate(CONSUMER, ALICE)
    assert found == gate(holder="me", hold_until_ms=5_000)


def test_r1_needs_a_gate(store: ParkingStore) -> None:
    assert not store.acquire(CONSUMER, ALICE, "me", 1_000, 5_000)
    assert store.gate(CONSUMER, ALICE) is None


def test_r1_does_not_take_a_hold_that_lasts(held: ParkingStore) -> None:
    assert not held.acquire(CONSUMER, ALICE, "other", 5_000, 9_000)


def test_r1_takes_a_hold_that_ran_out(held: ParkingStore) -> None:
    assert held.acquire(CONSUMER, ALICE, "other", 5_001, 9_000)


# R2


def test_r2_reads_the_lot_in_the_order_of_sequence_numbers(quarantined: ParkingStore) -> None:
    # As text "9" sorts behind "10"; a parent shard's numbers are below its child's.
    records = [
        parked(0, sequence_number="10", shard_id="shardId-000000000001"),
        parked(0, sequence_number="9", shard_id="shardId-000000000002", sub_sequence_number=2),
        parked(0, sequence_number="9", shard_id="shardId-000000000002", sub_sequence_number=10),
    ]
    quarantined.park_behind(CONSUMER, ALICE, records)
    assert quarantined.parked(CONSUMER, ALICE) == [records[1], records[2], records[0], parked(0)]
    assert quarantined.parked(CONSUMER, ALICE, most=1) == [records[1]]


def test_r2_reads_every_page_of_a_lot(quarantined: ParkingStore) -> None:
    records = [parked(position, data=b"x" * 300_000) for position in range(1, 6)]
    for record in records:
        quarantined.park_behind(CONSUMER, ALICE, [record])
    assert quarantined.parked(CONSUMER, ALICE) == [parked(0), *records]


# R3


def test_r3_lifts_the_quarantine(held: ParkingStore) -> None:
    held.remove(parked(0))
    assert held.lift(CONSUMER, ALICE, "me", 1)
    assert held.gate(CONSUMER, ALICE) is None


def test_r3_needs_the_hold(held: ParkingStore) -> None:
    assert not held.lift(CONSUMER, ALICE, "other", 1)
    assert held.gate(CONSUMER, ALICE) is not None


def test_r3_needs_the_version_that_it_read(held: ParkingStore) -> None:
    held.park_behind(CONSUMER, ALICE, [parked(1)])
    assert not held.lift(CONSUMER, ALICE, "me", 1)
    assert held.lift(CONSUMER, ALICE, "me", 2)


# R4


def test_r4_moves_the_end_of_the_hold(held: ParkingStore) -> None:
    assert held.extend(CONSUMER, ALICE, "me", 7_000)
    assert held.gate(CONSUMER, ALICE) == gate(holder="me", hold_until_ms=7_000)


def test_r4_needs_the_hold(held: ParkingStore) -> None:
    assert not held.extend(CONSUMER, ALICE, "other", 7_000)
    assert held.gate(CONSUMER, ALICE) == gate(holder="me", hold_until_ms=5_000)


# R6


def test_r6_removes_what_it_read(held: ParkingStore) -> None:
    assert held.remove(parked(0))
    assert held.parked(CONSUMER, ALICE) == []
    assert not held.remove(parked(0))


def test_r6_does_not_remove_what_was_parked_since(held: ParkingStore) -> None:
    assert not held.remove(parked(0, rev="earlier"))
    assert held.parked(CONSUMER, ALICE) == [parked(0)]


def test_r6_counts_a_failure(held: ParkingStore) -> None:
    assert held.note_failure(parked(0), "still broken")
    assert held.parked(CONSUMER, ALICE) == [parked(0, attempts=4, reason="still broken")]
    assert not held.note_failure(parked(0, rev="earlier"), "other")
    assert not held.note_failure(parked(1), "not there")
    assert held.parked(CONSUMER, ALICE) == [parked(0, attempts=4, reason="still broken")]


def test_r6_gives_the_hold_up(held: ParkingStore) -> None:
    assert not held.release(CONSUMER, ALICE, "other")
    assert held.gate(CONSUMER, ALICE) == gate(holder="me", hold_until_ms=5_000)
    assert held.release(CONSUMER, ALICE, "me")
    assert held.gate(CONSUMER, ALICE) == gate()


# Payloads


def test_a_payload_comes_back_whatever_its_size(quarantined: ParkingStore) -> None:
    large = quarantined.fitted(parked(1, data=b"x" * 1_000_000))
    quarantined.park_behind(CONSUMER, ALICE, [large, parked(2, data=b"")])
    found = quarantined.parked(CONSUMER, ALICE)
    assert [quarantined.payload(each) for each in found] == [b'{"n": 1}', b"x" * 1_000_000, b""]
    assert quarantined.remove(found[1])


def test_every_field_comes_back(quarantined: ParkingStore) -> None:
    record = parked(
        1,
        sequence_number=sequence(1),
        sub_sequence_number=7,
        whole_event=True,
        source_arn="",
        data=bytes(range(256)),
    )
    quarantined.park_behind(CONSUMER, ALICE, [record])
    assert quarantined.parked(CONSUMER, ALICE)[1] == record
