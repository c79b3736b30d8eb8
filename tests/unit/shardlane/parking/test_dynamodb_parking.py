"""What only the DynamoDB store does: large payloads in S3, and errors told apart."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from shardlane import ParkingError, ParkingLot, Record
from shardlane.errors import PayloadTooLarge, StoreUnavailable
from shardlane.parking.desk import ParkingDesk, Settled
from shardlane.parking.dynamodb_store import MOST_ITEM_PAYLOAD_BYTES, DynamoDBParkingStore
from shardlane.parking.payload_bucket import PayloadBucket
from tests.unit.shardlane.entries import SHARD, entry, sequence
from tests.unit.shardlane.parking.lots import (
    ALICE,
    BUCKET,
    CONSUMER,
    LEASES,
    TABLE,
    gate,
    parked,
)
from tests.unit.shardlane.stepped_clock import SteppedClock

LARGE = b"x" * (MOST_ITEM_PAYLOAD_BYTES + 1)


def objects(store: DynamoDBParkingStore) -> list[str]:
    assert store._payloads is not None
    listed = store._payloads._s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return [each["Key"] for each in listed]


def without_bucket(store: DynamoDBParkingStore) -> DynamoDBParkingStore:
    return DynamoDBParkingStore(TABLE, client=store._client)


def test_only_a_large_payload_goes_to_the_bucket(dynamodb: DynamoDBParkingStore) -> None:
    small = parked(0, data=LARGE[1:])
    assert dynamodb.fitted(small) is small
    assert objects(dynamodb) == []
    large = dynamodb.fitted(parked(0, data=LARGE))
    assert large.data is None
    assert large.stored is not None
    assert objects(dynamodb) == [large.stored.key]
    assert large.stored.key.endswith("-rev-0")


def test_without_a_bucket_a_large_payload_is_refused(dynamodb: DynamoDBParkingStore) -> None:
    with pytest.raises(PayloadTooLarge, match="give the parking lot a bucket"):
        without_bucket(dynamodb).fitted(parked(0, data=LARGE))


def test_removing_the_record_deletes_its_object_and_no_other(
    dynamodb: DynamoDBParkingStore,
) -> None:
    first = dynamodb.fitted(parked(0, data=LARGE))
    dynamodb.park_first(gate(), first)
    other = dynamodb.fitted(parked(0, data=LARGE, rev="other"))
    assert len(objects(dynamodb)) == 2
    assert dynamodb.remove(first)
    assert objects(dynamodb) == [other.stored.key if other.stored else None]


def test_an_object_that_was_tampered_with_is_refused(dynamodb: DynamoDBParkingStore) -> None:
    large = dynamodb.fitted(parked(0, data=LARGE))
    assert large.stored is not None
    assert dynamodb._payloads is not None
    dynamodb._payloads._s3.put_object(Bucket=BUCKET, Key=large.stored.key, Body=b"other")
    with pytest.raises(ParkingError, match="not what was parked"):
        dynamodb.payload(large)


def test_a_payload_in_s3_needs_the_bucket(dynamodb: DynamoDBParkingStore) -> None:
    large = dynamodb.fitted(parked(0, data=LARGE))
    with pytest.raises(ParkingError, match="open the parking lot with its bucket"):
        without_bucket(dynamodb).payload(large)


@pytest.mark.parametrize(
    ("item", "owned"),
    [
        ({"leaseOwner": "me"}, True),
        ({"leaseOwner": "other"}, False),
        ({"leaseOwner": "other", "checkpointOwner": "me"}, True),
        (None, False),
    ],
)
def test_the_owner_check_reads_the_lease_row(
    item: dict[str, str] | None, owned: bool, dynamodb: DynamoDBParkingStore
) -> None:
    check = {
        "TableName": LEASES,
        "Key": {"leaseKey": {"S": SHARD}},
        "ConditionExpression": "leaseOwner = :me OR checkpointOwner = :me",
        "ExpressionAttributeValues": {":me": {"S": "me"}},
    }
    if item is not None:
        row = {"leaseKey": SHARD} | item
        typed = {name: {"S": value} for name, value in row.items()}
        dynamodb._client.put_item(TableName=LEASES, Item=typed)
    dynamodb.park_first(gate(), parked(0), check)
    dynamodb.park_behind(CONSUMER, ALICE, [parked(1)], check)
    assert len(dynamodb.parked(CONSUMER, ALICE)) == (2 if owned else 0)


class Recording:
    """Notes the requests to an empty table."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def query(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"Items": []}

    def get_item(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {}


def test_every_read_is_consistent() -> None:
    # A read that lags behind would miss a gate, and its key's records would overtake.
    client = Recording()
    store = DynamoDBParkingStore("t", client=client)
    store.gates(CONSUMER)
    store.gate(CONSUMER, ALICE)
    store.parked(CONSUMER, ALICE)
    assert [request["ConsistentRead"] for request in client.requests] == [True, True, True]


def client_error(code: str, status: int = 400, **more: Any) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "…"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response | more, "TransactWriteItems")


def cancelled(*codes: str) -> ClientError:
    reasons = [{"Code": code} for code in codes]
    return client_error("TransactionCanceledException", CancellationReasons=reasons)


class Failing:
    """A DynamoDB client of which every call fails in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def call(**request: Any) -> Any:
            raise self.error

        return call


@pytest.mark.parametrize(
    "error",
    [
        client_error("ProvisionedThroughputExceededException"),
        client_error("ThrottlingException"),
        client_error("RequestLimitExceeded"),
        client_error("TransactionInProgressException"),
        client_error("InternalServerError", 500),
        client_error("Unheard", 503),
        ReadTimeoutError(endpoint_url="https://dynamodb"),
    ],
)
def test_what_may_pass_is_unavailable(error: Exception) -> None:
    store = DynamoDBParkingStore("t", client=Failing(error))
    for call in (
        lambda: store.gates(CONSUMER),
        lambda: store.park_first(gate(), parked(0)),
        lambda: store.park_behind(CONSUMER, ALICE, [parked(0)]),
        lambda: store.acquire(CONSUMER, ALICE, "me", 1, 2),
        lambda: store.gate(CONSUMER, ALICE),
        lambda: store.lift(CONSUMER, ALICE, "me", 1),
    ):
        with pytest.raises(StoreUnavailable, match="table t"):
            call()


@pytest.mark.parametrize(
    "error",
    [
        client_error("ResourceNotFoundException"),
        client_error("AccessDeniedException"),
        client_error("ValidationException"),
        NoCredentialsError(),
    ],
)
def test_what_is_set_up_wrongly_says_so(error: Exception) -> None:
    store = DynamoDBParkingStore("t", client=Failing(error))
    for call in (
        lambda: store.gates(CONSUMER),
        lambda: store.park_first(gate(), parked(0)),
        lambda: store.release(CONSUMER, ALICE, "me"),
        lambda: store.remove(parked(0)),
    ):
        with pytest.raises(ParkingError, match="table t") as caught:
            call()
        assert not isinstance(caught.value, StoreUnavailable)


def test_a_conflict_says_nothing_about_the_conditions() -> None:
    # The other write of the transaction found its condition false, against a state that a third
    # transaction was about to change.
    error = cancelled("ConditionalCheckFailed", "TransactionConflict")
    with pytest.raises(StoreUnavailable, match="TransactionConflict"):
        DynamoDBParkingStore("t", client=Failing(error)).park_first(gate(), parked(0))


def test_a_transaction_that_is_refused_for_another_reason_says_so() -> None:
    error = cancelled("ItemCollectionSizeLimitExceeded", "None")
    with pytest.raises(ParkingError, match="refused"):
        DynamoDBParkingStore("t", client=Failing(error)).park_first(gate(), parked(0))


def test_a_payload_whose_object_cannot_be_deleted_is_gone_from_the_lot_all_the_same(
    dynamodb: DynamoDBParkingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = dynamodb.fitted(parked(0, data=LARGE))
    dynamodb.park_first(gate(), large)
    slow = PayloadBucket(BUCKET, Failing(client_error("SlowDown", 503)))
    monkeypatch.setattr(dynamodb, "_payloads", slow)
    assert dynamodb.remove(large)
    assert dynamodb.parked(CONSUMER, ALICE) == []


def test_a_record_that_a_batch_has_twice_is_parked_behind_its_key_once(
    dynamodb: DynamoDBParkingStore,
) -> None:
    """A transaction that names an item twice is refused, for ever."""
    desk = ParkingDesk(
        ParkingLot(consumer=CONSUMER, store=dynamodb),
        clock=SteppedClock(),
        until_s=2_000.0,
        draw=lambda: 0.5,
    )
    first, second, third = (
        Record.from_event(entry(position, "alice"), sequence(position), "alice")
        for position in range(3)
    )
    desk.park_first(first, "boom", 1)
    assert desk.park_behind([second, second, third]) == Settled((0,), lifted=False)
    assert desk.park_behind([second, third, third]) == Settled((0, 1), lifted=False)
    places = [each.sequence_number for each in dynamodb.parked(CONSUMER, ALICE)]
    assert places == [sequence(position) for position in range(3)]
