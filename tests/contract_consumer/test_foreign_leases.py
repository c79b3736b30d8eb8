"""Rows that the Kinesis Client Library wrote: taken over and handed back, with all that is its.

The items are written to its documented schema (``DynamoDBLeaseSerializer``), by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.dynamodb_lease_store import DynamoDBLeaseStore
from shardlane.consumer.errors import LeaseTableError
from shardlane.consumer.lease import RENEWAL, Change, Lease
from shardlane.consumer.lease_store import Done, LeaseTable, Refused
from tests.contract_consumer.lease_tables import ME, STREAM

TABLE = "kcl-leases"
OPTIONS: dict[str, Any] = {
    "region_name": "eu-west-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}
SHARD = "shardId-000000000003"
IDENTIFIER = "000000000000:orders:1780000000"

KCL_3: dict[str, Any] = {
    "leaseKey": {"S": SHARD},
    "entityType": {"S": "LEASE"},
    "leaseOwner": {"S": "kcl-worker-7"},
    "leaseCounter": {"N": "812"},
    "checkpoint": {"S": "49590338271490256608559692538361571095921575989136588898"},
    "checkpointSubSequenceNumber": {"N": "2"},
    "ownerSwitchesSinceCheckpoint": {"N": "1"},
    "parentShardId": {"SS": ["shardId-000000000001", "shardId-000000000002"]},
    "startingHashKey": {"S": "0"},
    "endingHashKey": {"S": "170141183460469231731687303715884105727"},
    "pendingCheckpoint": {"S": "49590338271490256608559692538361571095921575989136588900"},
    "pendingCheckpointSubSequenceNumber": {"N": "0"},
    "pendingCheckpointState": {"B": b"state"},
    "throughputKBps": {"N": "103.5"},
    "somethingNew": {"M": {"kept": {"BOOL": True}}},
}
MULTI_STREAM: dict[str, Any] = {
    **KCL_3,
    "leaseKey": {"S": f"{IDENTIFIER}:{SHARD}"},
    "streamName": {"S": IDENTIFIER},
    "shardId": {"S": SHARD},
}
LIBRARY_ROWS: list[dict[str, Any]] = [
    {"leaseKey": {"S": "Leader"}, "entityType": {"S": "LEADER"}, "leader": {"S": "w"}},
    {"leaseKey": {"S": "metrics-w"}, "entityType": {"S": "WORKER_METRIC_STATS"}},
    {"leaseKey": {"S": "Migration3.0"}, "entityType": {"S": "CLIENT_VERSION_MIGRATION"}},
]
PENDING = {"pendingCheckpoint", "pendingCheckpointSubSequenceNumber", "pendingCheckpointState"}
OURS = {"slStreamCreated", "slStreamName"}


class Table:
    """The library's table, with what is in it."""

    def __init__(self) -> None:
        self.client = boto3.client("dynamodb", **OPTIONS)
        self.client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def fill(self, *items: dict[str, Any]) -> None:
        for item in items:
            self.client.put_item(TableName=TABLE, Item=item)

    def item(self, key: str) -> dict[str, Any]:
        answer = self.client.get_item(TableName=TABLE, Key={"leaseKey": {"S": key}})
        found: dict[str, Any] = answer["Item"]
        return found

    def close(self) -> None:
        self.client.delete_table(TableName=TABLE)
        self.client.close()


@pytest.fixture
def library(aws: None) -> Iterator[Table]:
    table = Table()
    yield table
    table.close()


async def opened(*, multi_stream: bool = False) -> tuple[DynamoDBLeaseStore, LeaseTable]:
    store = DynamoDBLeaseStore(TABLE, multi_stream=multi_stream, create=False, **OPTIONS)
    try:
        return store, await store.open(STREAM)
    except BaseException:
        await store.close()
        raise


async def only_row(leases: LeaseTable) -> Lease:
    rows = await leases.scan()
    assert isinstance(rows, list)
    assert len(rows) == 1
    return rows[0]


def sorted_sets(item: dict[str, Any]) -> dict[str, Any]:
    """Sets have no order."""
    return {
        name: {"SS": sorted(value["SS"])} if "SS" in value else value
        for name, value in item.items()
    }


@pytest.mark.parametrize("multi_stream", [False, True], ids=["single-stream", "multi-stream"])
def test_a_row_is_taken_over_and_handed_back_with_everything_foreign_intact(
    library: Table, multi_stream: bool
) -> None:
    before = MULTI_STREAM if multi_stream else KCL_3
    library.fill(before, *([] if multi_stream else LIBRARY_ROWS))

    async def take_work_and_release() -> None:
        store, leases = await opened(multi_stream=multi_stream)
        seen = await only_row(leases)
        taken = await leases.take(seen, ME, None)
        assert isinstance(taken, Done)
        assert taken.row.checkpoint == Checkpoint(before["checkpoint"]["S"], 2)
        await leases.write(SHARD, 813, ME, RENEWAL)
        last = Change(checkpoint=Checkpoint("4" * 56, 0), give_up=True)
        assert isinstance(await leases.write(SHARD, 814, ME, last), Done)
        await store.close()

    asyncio.run(take_work_and_release())
    after = library.item(before["leaseKey"]["S"])
    assert set(before) - set(after) == PENDING | {"leaseOwner"}
    assert set(after) - set(before) == OURS
    expected = {name: value for name, value in before.items() if name in after} | {
        "leaseCounter": {"N": "815"},
        "checkpoint": {"S": "4" * 56},
        "checkpointSubSequenceNumber": {"N": "0"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "slStreamCreated": {"N": str(STREAM.created_ms)},
        "slStreamName": {"S": "orders"},
    }
    assert sorted_sets(after) == sorted_sets(expected)


def test_rows_of_other_kinds_are_skipped_and_stay(library: Table) -> None:
    library.fill(KCL_3, *LIBRARY_ROWS)

    async def look() -> Lease:
        store, leases = await opened()
        row = await only_row(leases)
        await store.close()
        return row

    row = asyncio.run(look())
    assert row == Lease(
        shard_id=SHARD,
        counter=812,
        owner="kcl-worker-7",
        checkpoint=Checkpoint(KCL_3["checkpoint"]["S"], 2),
        switches=1,
        parents=frozenset({"shardId-000000000001", "shardId-000000000002"}),
        hash_range=("0", "170141183460469231731687303715884105727"),
    )
    for item in LIBRARY_ROWS:
        assert library.item(item["leaseKey"]["S"]) == item


def test_a_row_of_an_old_version_needs_no_more_than_it_has(library: Table) -> None:
    library.fill(
        {
            "leaseKey": {"S": SHARD},
            "leaseCounter": {"N": "3"},
            "checkpoint": {"S": "TRIM_HORIZON"},
            "checkpointSubSequenceNumber": {"N": "0"},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
        }
    )

    async def look() -> Lease:
        store, leases = await opened()
        row = await only_row(leases)
        await store.close()
        return row

    assert asyncio.run(look()) == Lease(shard_id=SHARD, counter=3)


def test_a_hand_over_of_the_library_is_finished_by_whom_it_names(library: Table) -> None:
    """The library's leader gave the lease to us while another worker still finishes."""
    library.fill({**KCL_3, "leaseOwner": {"S": ME}, "checkpointOwner": {"S": "kcl-worker-7"}})

    async def wait_then_take() -> tuple[Any, Any]:
        store, leases = await opened()
        row = await only_row(leases)
        early = await leases.write(SHARD, row.counter, ME, RENEWAL)
        library.client.update_item(
            TableName=TABLE,
            Key={"leaseKey": {"S": SHARD}},
            UpdateExpression="SET leaseCounter = :n REMOVE checkpointOwner",
            ExpressionAttributeValues={":n": {"N": "813"}},
        )
        taken = await leases.take(await only_row(leases), ME, None)
        await store.close()
        return early, taken

    early, taken = asyncio.run(wait_then_take())
    assert isinstance(early, Refused)
    assert isinstance(taken, Done)
    assert (taken.row.owner, taken.row.checkpoint_owner, taken.row.counter) == (ME, None, 814)


@pytest.mark.parametrize(
    ("item", "multi_stream", "told"),
    [
        (MULTI_STREAM, False, "multi_stream=True"),
        (KCL_3, True, "multi_stream=False"),
        ({**KCL_3, "slStreamName": {"S": "invoices"}}, False, "the stream invoices"),
    ],
    ids=["multi-stream rows", "single-stream rows", "another stream's rows"],
)
def test_a_table_of_another_shape_is_refused_with_what_to_do(
    library: Table, item: dict[str, Any], multi_stream: bool, told: str
) -> None:
    library.fill(item)
    with pytest.raises(LeaseTableError, match=told):
        asyncio.run(opened(multi_stream=multi_stream))


def test_two_streams_share_a_multi_stream_table_without_seeing_each_other(library: Table) -> None:
    other = {**MULTI_STREAM, "leaseKey": {"S": f"000000000000:invoices:1780000000:{SHARD}"}}
    library.fill(MULTI_STREAM, {**other, "streamName": {"S": "000000000000:invoices:1780000000"}})

    async def look() -> Lease:
        store, leases = await opened(multi_stream=True)
        row = await only_row(leases)
        await store.close()
        return row

    assert asyncio.run(look()).shard_id == SHARD


def test_a_row_that_nobody_writes_is_named(library: Table) -> None:
    library.fill({"leaseKey": {"S": SHARD}, "leaseCounter": {"N": "1"}})

    async def look() -> None:
        store, leases = await opened()
        try:
            await leases.scan()
        finally:
            await store.close()

    with pytest.raises(ValueError, match=SHARD):
        asyncio.run(look())


def test_a_table_that_is_missing_is_an_error_unless_it_may_be_made(aws: None) -> None:
    async def open_missing() -> None:
        store = DynamoDBLeaseStore("not-there", create=False, **OPTIONS)
        try:
            await store.open(STREAM)
        finally:
            await store.close()

    with pytest.raises(LeaseTableError, match="no lease table not-there"):
        asyncio.run(open_missing())


def test_a_table_that_is_deleted_while_it_is_used_is_an_error_and_no_outage(aws: None) -> None:
    """No waiting brings it back; a consumer that waits for it would read nothing, in silence."""

    async def look() -> None:
        table = Table()
        store, leases = await opened()
        table.close()
        try:
            await leases.scan()
        finally:
            await store.close()

    with pytest.raises(LeaseTableError, match="is gone"):
        asyncio.run(look())
