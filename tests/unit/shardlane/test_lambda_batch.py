from __future__ import annotations

from typing import Any

import pytest

from shardlane import BadEvent, BadRecord
from shardlane.lambda_batch import LambdaBatch
from shardlane.operations.unordered import labelled
from tests.unit.shardlane.entries import entry, sequence
from tests.unit.shardlane.packed import MAGIC, packed


def test_keeps_the_events_order() -> None:
    batch = LambdaBatch([entry(0, "a", b"1"), entry(1, "b", b"2")])
    assert len(batch) == 2
    assert batch.keys == ["a", "b"]
    assert [batch.record(position).data for position in range(2)] == [b"1", b"2"]


def test_an_aggregate_is_replaced_by_its_records() -> None:
    inner = [("x", b"1"), ("y", b"2"), ("x", b"3")]
    batch = LambdaBatch([entry(0, "a"), entry(1, "outer", packed(inner)), entry(2, "b")])
    assert batch.keys == ["a", "x", "y", "x", "b"]
    assert batch.sequence_numbers == [sequence(each) for each in (0, 1, 1, 1, 2)]
    records = [batch.record(position) for position in range(1, 4)]
    assert [(each.partition_key, each.data) for each in records] == inner
    assert [each.sub_sequence_number for each in records] == [0, 1, 2]


def test_an_empty_aggregate_leaves_nothing_to_handle() -> None:
    assert len(LambdaBatch([entry(0, "outer", packed([]))])) == 0


def test_a_payload_that_starts_with_the_magic_stays_plain() -> None:
    batch = LambdaBatch([entry(0, "a", MAGIC + b"chance, and long enough for an MD5")])
    assert batch.keys == ["a"]
    assert batch.record(0).data.startswith(MAGIC)


def test_damage_waits_for_the_record_that_has_it() -> None:
    batch = LambdaBatch(
        [entry(0) | {"kinesis": entry(0)["kinesis"] | {"data": "84maw@@@"}}, entry(1, "b", b"fine")]
    )
    with pytest.raises(BadRecord, match="base64"):
        batch.record(0).data  # noqa: B018
    assert batch.record(1).data == b"fine"


@pytest.mark.parametrize("key", [None, 5])
def test_a_record_without_a_key_has_the_empty_one(key: object) -> None:
    assert LambdaBatch([entry(0, partitionKey=key)]).keys == [""]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({}, r"Records\[1\] has no kinesis\.sequenceNumber"),
        (None, r"Records\[1\] has no"),
        ("text", r"Records\[1\] has no"),
        ({"kinesis": None}, r"Records\[1\] has no"),
        ({"kinesis": []}, r"Records\[1\] has no"),
        (entry(1, sequenceNumber=""), r"Records\[1\] has no"),
        (entry(1, sequenceNumber="12x"), r"Records\[1\] has no"),
        (entry(1, sequenceNumber=12), r"Records\[1\] has no"),
        ({"eventSource": "aws:sqs", "body": "x"}, r"Records\[1\] comes from 'aws:sqs'"),
    ],
)
def test_an_entry_that_could_not_be_reported_is_refused(broken: Any, message: str) -> None:
    with pytest.raises(BadEvent, match=message):
        LambdaBatch([entry(0), broken])


def test_an_aggregate_that_a_mapping_gave_up_is_unpacked_when_it_is_sent_once_more() -> None:
    """Else the handler would take the packed bytes for a record, and what is in them be lost."""
    batch = LambdaBatch([labelled(entry(0, "outer", packed([("x", b"1"), ("y", b"2")])))])
    assert batch.keys == ["x", "y"]
    assert [batch.record(position).data for position in range(2)] == [b"1", b"2"]


@pytest.mark.parametrize("ours", [{"redrive": {}}, {"sub_sequence_number": 3}])
def test_what_was_parked_is_not_unpacked_a_second_time(ours: dict[str, Any]) -> None:
    aggregate = packed([("x", b"1")])
    batch = LambdaBatch([entry(0, "a", aggregate) | {"shardlane": ours}])
    assert batch.keys == ["a"]
    assert batch.record(0).data == aggregate
