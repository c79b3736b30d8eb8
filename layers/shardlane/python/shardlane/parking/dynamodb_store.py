"""The parking store on a DynamoDB table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from shardlane.errors import ParkingError, PayloadTooLarge, StoreUnavailable
from shardlane.parking.answers import Behind, First
from shardlane.parking.aws_errors import condition_failed, failed_conditions, parking_errors
from shardlane.parking.items import (
    Item,
    gate_from,
    gate_id,
    gate_item,
    gates_pk,
    lot_pk,
    parked_from,
    parked_id,
    parked_item,
)
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.payload_bucket import PayloadBucket
from shardlane.parking.store import OwnerCheck

MOST_ITEM_PAYLOAD_BYTES = 350_000
"""An item may have 400 KB (DynamoDB quotas), of which key, reason and places take a few."""

_ABSENT = "attribute_not_exists(pk)"
_HELD = "holder = :me"


def _config() -> Config:
    # Short and without retries of its own: the caller repeats, and knows how much time is left.
    return Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1})


class DynamoDBParkingStore:
    """One conditional call for each method of ``ParkingStore``."""

    blocking = True

    def __init__(
        self, table: str, bucket: str | None = None, *, client: Any = None, s3: Any = None
    ) -> None:
        """``client`` and ``s3`` are boto3 clients; default: new ones of the environment."""
        self._table = table
        self._where = f"table {table}"
        with parking_errors(self._where):
            self._client = client or boto3.client("dynamodb", config=_config())
            self._payloads = (
                PayloadBucket(bucket, s3 or boto3.client("s3", config=_config()))
                if bucket is not None
                else None
            )

    def gates(self, consumer: str) -> list[Gate]:
        return [gate_from(item) for item in self._query(gates_pk(consumer), None)]

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        owned, (lot, gate_) = self._write(
            owner,
            [
                self._put(parked_item(record)),
                self._put(gate_item(gate)),
            ],
        )
        if not owned:
            return First.NOT_OWNER
        if lot:
            return First.ALREADY_PARKED
        return First.GATE_EXISTS if gate_ else First.PARKED

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        bump = {
            "TableName": self._table,
            "Key": gate_id(consumer, hash_),
            "UpdateExpression": "ADD ver :one, n :count",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":count": {"N": str(len(records))}},
        }
        owned, (*lots, gate) = self._write(
            owner, [*(self._put(parked_item(each)) for each in records), {"Update": bump}]
        )
        if not owned:
            return Behind(not_owner=True)
        already = tuple(index for index, failed in enumerate(lots) if failed)
        return Behind(already_parked=already, gate_missing=gate and not already)

    def acquire(self, consumer: str, hash_: str, holder: str, now_ms: int, until_ms: int) -> bool:
        return self._update(
            gate_id(consumer, hash_),
            "SET holder = :me, hold_until = :until",
            "attribute_exists(pk) AND (attribute_not_exists(holder) OR hold_until < :now)",
            {":me": {"S": holder}, ":until": {"N": str(until_ms)}, ":now": {"N": str(now_ms)}},
        )

    def gate(self, consumer: str, hash_: str) -> Gate | None:
        with parking_errors(self._where):
            answer = self._client.get_item(
                TableName=self._table, Key=gate_id(consumer, hash_), ConsistentRead=True
            )
        return gate_from(answer["Item"]) if "Item" in answer else None

    def parked(self, consumer: str, hash_: str, most: int | None = None) -> list[Parked]:
        return [parked_from(item) for item in self._query(lot_pk(consumer, hash_), most)]

    def lift(self, consumer: str, hash_: str, holder: str, version: int) -> bool:
        return (
            self._delete(
                gate_id(consumer, hash_),
                f"{_HELD} AND ver = :ver",
                {":me": {"S": holder}, ":ver": {"N": str(version)}},
            )
            is not None
        )

    def extend(self, consumer: str, hash_: str, holder: str, until_ms: int) -> bool:
        return self._update(
            gate_id(consumer, hash_),
            "SET hold_until = :until",
            _HELD,
            {":me": {"S": holder}, ":until": {"N": str(until_ms)}},
        )

    def remove(self, record: Parked) -> bool:
        removed = self._delete(parked_id(record), "rev = :rev", {":rev": {"S": record.rev}})
        if removed is None:
            return False
        stored = parked_from(removed).stored
        if stored is not None and self._payloads is not None:
            # What cannot be deleted now is an orphan without an item, which a sweep removes.
            with suppress(StoreUnavailable):
                self._payloads.delete(stored)
        return True

    def note_failure(self, record: Parked, reason: str) -> bool:
        return self._update(
            parked_id(record),
            "SET reason = :reason ADD attempts :one",
            "rev = :rev",
            {":reason": {"S": reason}, ":one": {"N": "1"}, ":rev": {"S": record.rev}},
        )

    def release(self, consumer: str, hash_: str, holder: str) -> bool:
        return self._update(
            gate_id(consumer, hash_),
            "REMOVE holder, hold_until",
            _HELD,
            {":me": {"S": holder}},
        )

    def fitted(self, record: Parked) -> Parked:
        if record.data is None or len(record.data) <= MOST_ITEM_PAYLOAD_BYTES:
            return record
        if self._payloads is None:
            raise PayloadTooLarge(
                f"a payload of {len(record.data)} bytes does not fit into {self._where} (allowed: "
                f"{MOST_ITEM_PAYLOAD_BYTES}); give the parking lot a bucket"
            )
        return replace(record, data=None, stored=self._payloads.put(record, record.data))

    def payload(self, record: Parked) -> bytes:
        if record.data is not None:
            return record.data
        if record.stored is None or self._payloads is None:
            raise ParkingError(
                f"the payload of {record.sequence_number} is in S3; open the parking lot with its "
                "bucket"
            )
        return self._payloads.get(record.stored)

    def _put(self, item: Item) -> dict[str, Any]:
        return {
            "Put": {"TableName": self._table, "Item": item, "ConditionExpression": _ABSENT},
        }

    def _write(
        self, owner: OwnerCheck | None, writes: list[dict[str, Any]]
    ) -> tuple[bool, list[bool]]:
        """Writes all or nothing: whether the owner check held, and which conditions did not."""
        checks = [{"ConditionCheck": dict(owner)}] if owner is not None else []
        with parking_errors(self._where):
            try:
                self._client.transact_write_items(TransactItems=[*checks, *writes])
            except ClientError as error:
                failed = failed_conditions(error, self._where)
                return not any(failed[: len(checks)]), failed[len(checks) :]
        return True, [False] * len(writes)

    def _update(self, key: Item, update: str, condition: str, values: Item) -> bool:
        with parking_errors(self._where):
            try:
                self._client.update_item(
                    TableName=self._table,
                    Key=key,
                    UpdateExpression=update,
                    ConditionExpression=condition,
                    ExpressionAttributeValues=values,
                )
            except ClientError as error:
                if condition_failed(error):
                    return False
                raise
        return True

    def _delete(self, key: Item, condition: str, values: Item) -> Item | None:
        """The deleted item, or None if the condition was false."""
        with parking_errors(self._where):
            try:
                answer = self._client.delete_item(
                    TableName=self._table,
                    Key=key,
                    ConditionExpression=condition,
                    ExpressionAttributeValues=values,
                    ReturnValues="ALL_OLD",
                )
            except ClientError as error:
                if condition_failed(error):
                    return None
                raise
        item: Item = answer["Attributes"]
        return item

    def _query(self, pk: str, most: int | None) -> Iterator[Item]:
        """The items of one partition in order, consistently read, through every page."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": pk}},
        }
        left = most
        while left is None or left > 0:
            with parking_errors(self._where):
                page = self._client.query(**request | ({"Limit": left} if left else {}))
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            left = left - len(page["Items"]) if left is not None else None
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
