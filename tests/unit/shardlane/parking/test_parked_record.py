from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane import ParkingLot, Record, SettingsError
from shardlane.lambda_batch import LambdaBatch
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.parked import UNKNOWN, Parked, parked_of
from shardlane.parking.place import key_hash, place_of
from tests.unit.shardlane.entries import SHARD, STREAM_ARN, entry, sequence
from tests.unit.shardlane.packed import packed

numbers = st.tuples(st.integers(0, 10**128), st.integers(0, 10**9))


@given(numbers, numbers)
def test_places_sort_as_their_numbers(one: tuple[int, int], other: tuple[int, int]) -> None:
    places = [place_of(str(sequence), sub) for sequence, sub in (one, other)]
    assert (places[0] < places[1]) == (one < other)


def test_a_key_is_hashed_as_utf8() -> None:
    assert key_hash("käse") == hashlib.sha256("käse".encode()).hexdigest()
    assert len(key_hash("")) == 64


def park(record: Record) -> Parked:
    return parked_of(record, consumer="billing", reason="boom", attempts=3, now_ms=7_000.4, rev="r")


def came_back(parked: Parked) -> Record:
    event: Any = parked.event(parked.data or b"")
    return LambdaBatch([event]).record(0)


def test_a_record_comes_back_as_it_went() -> None:
    record = LambdaBatch([entry(0, "alice", b"\xff\x00")]).record(0)
    parked = park(record)
    assert (parked.shard_id, parked.stream, parked.source_arn) == (
        SHARD,
        "order-events",
        STREAM_ARN,
    )
    assert (parked.parked_ms, parked.attempts, parked.reason) == (7_000, 3, "boom")
    assert came_back(parked) == record
    assert came_back(parked).source_arn == STREAM_ARN


def test_a_record_of_an_aggregate_keeps_its_place_in_it() -> None:
    batch = LambdaBatch([entry(0, "outer", packed([("x", b"1"), ("y", b"2")]))])
    parked = park(batch.record(1))
    assert (parked.key, parked.sub_sequence_number) == ("y", 1)
    assert came_back(parked) == batch.record(1)


@pytest.mark.parametrize(
    "damage",
    [
        {"kinesis": entry(0)["kinesis"] | {"data": "@@@@"}},
        {"eventID": None},
        {"eventSourceARN": "nowhere"},
    ],
)
def test_a_damaged_record_can_be_parked_and_comes_back_damaged(damage: dict[str, Any]) -> None:
    raw = entry(0, "alice") | damage
    record = LambdaBatch([raw]).record(0)
    parked = park(record)
    assert parked.sequence_number == sequence(0)
    if "kinesis" in damage:
        assert came_back(parked).to_event() == raw
    else:
        assert UNKNOWN in (parked.shard_id, parked.stream)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"consumer": "a#b", "table": "t"}, "1 to 100 of"),
        ({"consumer": "", "table": "t"}, "1 to 100 of"),
        ({"consumer": "c"}, "table= or store="),
        ({"consumer": "c", "table": "t", "store": MemoryParkingStore()}, "and not both"),
        ({"consumer": "c", "table": "t", "max_quarantined": 0}, "1 or more"),
    ],
)
def test_a_lot_checks_its_settings(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ParkingLot(**wrong)


def test_a_lot_opens_its_table_once(credentials: None) -> None:
    lot = ParkingLot(table="order-events-parking", consumer="billing")
    assert lot.open() is lot.open()
