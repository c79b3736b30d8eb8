"""What the parking commands read of a table and a bucket, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shardlane.operations.clients import Clients
from shardlane.operations.errors import OperationError
from shardlane.operations.orphans import (
    YOUNGEST_S,
    StoredObject,
    delete_orphan,
    find_orphans,
    orphans,
)
from shardlane.operations.parked_report import (
    keys_json,
    keys_text,
    records_json,
    records_text,
    why_text,
)
from shardlane.operations.parking_source import (
    LotPlace,
    ParkedKey,
    find_hash,
    lot_place,
    parked_key,
    parked_keys,
)
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.parked import StoredPayload
from shardlane.parking.place import key_hash
from tests.unit.shardlane.parking.lots import ALICE, BUCKET, CONSUMER, TABLE, gate, parked
from tests.unit.shardlane.parking.table_fixtures import credentials, dynamodb, one_dynamodb

__all__ = ["credentials", "dynamodb", "one_dynamodb"]

PLACE = LotPlace(table=TABLE, consumer=CONSUMER, bucket=BUCKET)
NOW_MS = 1_780_000_001_000 + 3 * 60_000
LARGE = b"x" * 400_000


@pytest.fixture
def clients(dynamodb: DynamoDBParkingStore) -> Iterator[Clients]:
    made = Clients()
    yield made
    made.close()


def test_keys_are_listed_the_oldest_first_with_head_and_depth(
    clients: Clients, dynamodb: DynamoDBParkingStore
) -> None:
    dynamodb.park_first(gate("bob", since_ms=2), parked(1, "bob"))
    dynamodb.park_first(gate("alice", since_ms=1), parked(2))
    dynamodb.park_behind(CONSUMER, ALICE, [parked(3), parked(4)])
    found = list(parked_keys(clients, PLACE))
    assert [(each.gate.key, each.depth) for each in found] == [("alice", 3), ("bob", 1)]
    assert [each.head and each.head.sequence_number for each in found] == [
        parked(2).sequence_number,
        parked(1).sequence_number,
    ]
    one = parked_key(clients, PLACE, ALICE)
    assert one == found[0]
    assert parked_key(clients, PLACE, key_hash("carol")) is None


def test_a_key_is_found_by_the_start_of_its_hash(dynamodb: DynamoDBParkingStore) -> None:
    dynamodb.park_first(gate(), parked(1))
    for start in (ALICE[:6], ALICE, f"sha256:{ALICE[:12]}…", ALICE[:8].upper()):
        assert find_hash(dynamodb, CONSUMER, key=None, hash_start=start) == ALICE
    assert find_hash(dynamodb, CONSUMER, key="any", hash_start=None) == key_hash("any")


@pytest.mark.parametrize(
    ("start", "said"),
    [("ab", "at least 6 hexadecimal"), ("nothex!", "at least 6"), ("000000", "0 quarantined keys")],
    ids=str,
)
def test_a_start_that_names_no_key_is_refused(
    start: str, said: str, dynamodb: DynamoDBParkingStore
) -> None:
    with pytest.raises(OperationError, match=said):
        find_hash(dynamodb, CONSUMER, key=None, hash_start=start)


class OneFunction:
    """Stands for the Lambda client: one function with an environment."""

    def __init__(self, **variables: str) -> None:
        self._variables = variables

    def __call__(self, service: str) -> OneFunction:
        assert service == "lambda"
        return self

    def get_function_configuration(self, **request: str) -> Any:
        assert request == {"FunctionName": "billing"}
        return {"Environment": {"Variables": self._variables}} if self._variables else {}


def place(clients: Any, **fields: Any) -> LotPlace:
    values = {"table": None, "consumer": None, "bucket": None, "function": None}
    return lot_place(clients, **(values | fields))


def test_the_lot_is_given_or_the_functions() -> None:
    nobody: Any = None
    assert place(nobody, table="t", consumer="c") == LotPlace(table="t", consumer="c")
    function = OneFunction(PARKING_TABLE="t", PARKING_CONSUMER="c", PARKING_BUCKET="b")
    assert place(function, function="billing") == LotPlace(table="t", consumer="c", bucket="b")
    given = place(function, function="billing", consumer="other")
    assert given == LotPlace(table="t", consumer="other", bucket="b")


def test_a_lot_that_nobody_names_is_asked_for() -> None:
    with pytest.raises(OperationError, match="give --table and --consumer"):
        place(None)
    with pytest.raises(OperationError, match="function billing names none"):
        place(OneFunction(), function="billing")


# --- orphans ----------------------------------------------------------------------------------


def test_an_orphan_is_old_and_named_by_no_record() -> None:
    old_ms = round(NOW_MS - YOUNGEST_S * 1000 - 1)
    objects = [
        StoredObject("named", 1, old_ms),
        StoredObject("orphan", 2, old_ms),
        StoredObject("young", 3, old_ms + 1),
    ]
    assert [each.key for each in orphans(objects, frozenset({"named"}), NOW_MS)] == ["orphan"]


def test_a_sweep_finds_what_a_crash_left_and_nothing_else(
    clients: Clients, dynamodb: DynamoDBParkingStore
) -> None:
    kept = dynamodb.fitted(parked(1, data=LARGE))
    dynamodb.park_first(gate(), kept)
    lost = dynamodb.fitted(parked(2, data=LARGE, rev="lost"))  # then its invocation was killed
    assert lost.stored is not None
    s3 = clients("s3")
    s3.put_object(Bucket=BUCKET, Key="shardlane/shipping/other-consumer", Body=b"")
    s3.put_object(Bucket=BUCKET, Key="not-ours", Body=b"")

    in_two_days = s3.head_object(Bucket=BUCKET, Key=lost.stored.key)["LastModified"].timestamp()
    found = find_orphans(clients, PLACE, (in_two_days + 2 * YOUNGEST_S) * 1000)
    assert [each.key for each in found] == [lost.stored.key]
    assert find_orphans(clients, PLACE, in_two_days * 1000) == []

    delete_orphan(clients, PLACE, found[0])
    assert dynamodb.payload(kept) == LARGE
    left = [each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert lost.stored.key not in left
    assert len(left) == 3


def test_a_sweep_needs_a_bucket(clients: Clients) -> None:
    with pytest.raises(OperationError, match="needs --bucket"):
        find_orphans(clients, replace(PLACE, bucket=None), NOW_MS)


# --- reports ----------------------------------------------------------------------------------

HELD = gate(holder="me", hold_until_ms=NOW_MS + 1)


def test_the_list_of_keys() -> None:
    keys = [
        ParkedKey(gate=gate(), head=parked(1, reason="ValueError:\n  a bad amount"), depth=2),
        ParkedKey(gate=replace(HELD, key="bob"), head=None, depth=0),
    ]
    lines = keys_text(keys, NOW_MS, in_clear=True).splitlines()
    assert lines[0].split() == ["KEY", "SINCE", "RECORDS", "ATTEMPTS", "STATE", "REASON"]
    assert " ".join(lines[1].split()) == "alice 3 min 2 3 waits ValueError: a bad amount"
    assert "redrive" in lines[2]
    assert "alice" not in keys_text(keys, NOW_MS, in_clear=False)
    assert "alice" not in str(keys_json(keys, in_clear=False))
    assert keys_text([], NOW_MS, in_clear=False) == "no key is quarantined"


def test_the_list_of_records_never_has_a_payload() -> None:
    large = parked(2, data=None, stored=StoredPayload("b", "k", "0"), sub_sequence_number=7)
    records = [parked(1, data=b"a secret", reason="x" * 200), large]
    written = records_text(records, NOW_MS)
    assert "8 bytes" in written
    assert "in S3" in written
    assert f"{large.sequence_number}/7" in written
    assert "x" * 79 + "…" in written
    assert "secret" not in written + str(records_json(records))
    assert records_json(records)[1]["object"] == "s3://b/k"
    assert records_text([], NOW_MS) == "no record of this key is parked"


def test_why_says_who_holds_a_key_and_what_is_left_of_it() -> None:
    held = ParkedKey(gate=HELD, head=parked(1), depth=1)
    written = why_text(PLACE, "alice", held, NOW_MS, in_clear=True, function="billing")
    assert "0 more are parked behind it" in written
    assert "A redrive holds it until" in written
    assert f"--bucket {BUCKET} --key-hash {ALICE[:12]} --function billing" in written
    empty = why_text(PLACE, "alice", replace(held, head=None, depth=0), NOW_MS, in_clear=False)
    assert "the next redrive lifts the quarantine" in empty
    assert "alice" not in empty
