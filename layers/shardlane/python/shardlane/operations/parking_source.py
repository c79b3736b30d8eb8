"""Which parking lot a command works on, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shardlane.operations.clients import Clients
from shardlane.operations.errors import OperationError
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.items import lot_pk
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.place import key_hash

ANSWER_WITHIN_S = 10
FEWEST_HASH_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LotPlace:
    """Table, consumer id, and the bucket of large payloads if there is one."""

    table: str
    consumer: str
    bucket: str | None = None


def lot_place(
    clients: Clients,
    *,
    table: str | None,
    consumer: str | None,
    bucket: str | None,
    function: str | None,
) -> LotPlace:
    """What is not given is looked for in the function's environment, where ``KeyedConsumer`` puts
    it. Raises ``OperationError`` naming what is missing."""
    variables: dict[str, str] = {}
    if function is not None and None in (table, consumer, bucket):
        found = clients("lambda").get_function_configuration(FunctionName=function)
        variables = (found.get("Environment") or {}).get("Variables") or {}
    table = table or variables.get("PARKING_TABLE")
    consumer = consumer or variables.get("PARKING_CONSUMER")
    if table is None or consumer is None:
        hint = ", or the --function that has them in its environment"
        if function is not None:
            hint = f"; function {function} names none in its environment"
        raise OperationError(f"which parking lot? give --table and --consumer{hint}")
    return LotPlace(
        table=table, consumer=consumer, bucket=bucket or variables.get("PARKING_BUCKET") or None
    )


def open_store(clients: Clients, place: LotPlace) -> DynamoDBParkingStore:
    """Its calls are never repeated by the SDK: the redriver does that, and knows when."""
    return DynamoDBParkingStore(
        place.table,
        place.bucket,
        client=clients("dynamodb", answer_within_s=ANSWER_WITHIN_S),
        s3=clients("s3") if place.bucket else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedKey:
    """A quarantined key: its gate, its first record, and how many records it has."""

    gate: Gate
    head: Parked | None
    depth: int


def parked_keys(clients: Clients, place: LotPlace) -> Iterator[ParkedKey]:
    """The longest quarantined first."""
    gates = open_store(clients, place).gates(place.consumer)
    for gate in sorted(gates, key=lambda each: each.since_ms):
        yield _looked_up(clients, place, gate)


def parked_key(clients: Clients, place: LotPlace, hash_: str) -> ParkedKey | None:
    """One key by its hash; None if it is not quarantined."""
    gate = open_store(clients, place).gate(place.consumer, hash_)
    return None if gate is None else _looked_up(clients, place, gate)


def _looked_up(clients: Clients, place: LotPlace, gate: Gate) -> ParkedKey:
    heads = open_store(clients, place).parked(place.consumer, gate.key_hash, most=1)
    return ParkedKey(
        gate=gate,
        head=heads[0] if heads else None,
        depth=_depth(clients("dynamodb"), place, gate.key_hash),
    )


def find_hash(
    store: DynamoDBParkingStore, consumer: str, *, key: str | None, hash_start: str | None
) -> str:
    """The hash of a key given in clear or by the start of its hash. Raises ``OperationError`` if
    no quarantined key, or more than one, has that start."""
    if key is not None:
        return key_hash(key)
    start = (hash_start or "").removeprefix("sha256:").removesuffix("…").lower()
    if len(start) < FEWEST_HASH_DIGITS or set(start) - set("0123456789abcdef"):
        raise OperationError(f"--key-hash needs at least {FEWEST_HASH_DIGITS} hexadecimal digits")
    found = [each.key_hash for each in store.gates(consumer) if each.key_hash.startswith(start)]
    if len(found) != 1:
        raise OperationError(f"{len(found)} quarantined keys have a hash that starts with {start}")
    return found[0]


def _depth(dynamodb: Any, place: LotPlace, hash_: str) -> int:
    """Counted, not loaded: a lot may hold gigabytes."""
    pages = dynamodb.get_paginator("query").paginate(
        TableName=place.table,
        ConsistentRead=True,
        Select="COUNT",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": lot_pk(place.consumer, hash_)}},
    )
    return sum(page["Count"] for page in pages)
