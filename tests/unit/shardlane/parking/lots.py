"""Parked records, gates and a table for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto import mock_aws

from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.place import key_hash
from tests.unit.shardlane.entries import SHARD, STREAM_ARN, sequence

CONSUMER = "billing"
TABLE, BUCKET, LEASES = "order-events-parking", "order-events-payloads", "order-events-leases"
TABLES = {TABLE: ("pk", "sk"), LEASES: ("leaseKey",)}
ALICE = key_hash("alice")


def parked(position: int, key: str = "alice", **fields: Any) -> Parked:
    values: dict[str, Any] = {
        "consumer": CONSUMER,
        "key": key,
        "stream": "order-events",
        "source_arn": STREAM_ARN,
        "shard_id": SHARD,
        "sequence_number": sequence(position),
        "sub_sequence_number": 0,
        "arrival_ms": 1_780_000_000_071,
        "data": b'{"n": 1}',
        "reason": "RuntimeError: boom",
        "attempts": 3,
        "parked_ms": 1_780_000_001_000,
        "rev": f"rev-{position}",
    }
    return Parked(**(values | fields))


def gate(key: str = "alice", **fields: Any) -> Gate:
    values: dict[str, Any] = {
        "consumer": CONSUMER,
        "key": key,
        "version": 1,
        "since_ms": 1_780_000_001_000,
        "reason": "RuntimeError: boom",
    }
    return Gate(**(values | fields))


@contextmanager
def dynamodb_store() -> Iterator[DynamoDBParkingStore]:
    """A store on an empty table of moto's, in this process."""
    with mock_aws():
        dynamodb = boto3.client("dynamodb", region_name="eu-west-1")
        for table, keys in TABLES.items():
            dynamodb.create_table(
                TableName=table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": k, "AttributeType": "S"} for k in keys],
                KeySchema=[
                    {"AttributeName": k, "KeyType": kind}
                    for k, kind in zip(keys, ("HASH", "RANGE"), strict=False)
                ],
            )
        s3 = boto3.client("s3", region_name="eu-west-1")
        s3.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
        yield DynamoDBParkingStore(TABLE, BUCKET, client=dynamodb, s3=s3)
        for client in (dynamodb, s3):
            client.close()


def wipe(store: DynamoDBParkingStore) -> None:
    """Empties both tables and the bucket: cheaper than making them anew for every test."""
    for table, keys in TABLES.items():
        for item in store._client.scan(TableName=table)["Items"]:
            store._client.delete_item(TableName=table, Key={key: item[key] for key in keys})
    assert store._payloads is not None
    s3 = store._payloads._s3
    for each in s3.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        s3.delete_object(Bucket=BUCKET, Key=each["Key"])
