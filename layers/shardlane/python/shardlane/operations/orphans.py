"""Payload objects in S3 that no parked record names: what a crash between the object and its item,
or between an item's deletion and its object's, leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shardlane.operations.clients import Clients
from shardlane.operations.errors import OperationError
from shardlane.operations.parking_source import LotPlace, open_store

YOUNGEST_S = 86_400
"""An object is written before its item. A day is longer than any invocation, and than any consumer
tries to reach its table."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    key: str
    size_bytes: int
    written_ms: int


def orphans(
    objects: Iterable[StoredObject], named: frozenset[str], now_ms: float
) -> list[StoredObject]:
    """Pure. ``named``: the objects that items name, read after the objects were listed."""
    oldest_kept_ms = now_ms - YOUNGEST_S * 1000
    return [each for each in objects if each.key not in named and each.written_ms < oldest_kept_ms]


def find_orphans(clients: Clients, place: LotPlace, now_ms: float) -> list[StoredObject]:
    """Reads only. The order matters: an item that is written between the two readings belongs to
    an object that is too young to be swept."""
    objects = list(_objects(clients("s3"), place))
    return orphans(objects, frozenset(_named(clients, place)), now_ms)


def delete_orphan(clients: Clients, place: LotPlace, orphan: StoredObject) -> None:
    clients("s3").delete_object(Bucket=place.bucket, Key=orphan.key)


def _objects(s3: Any, place: LotPlace) -> Iterator[StoredObject]:
    if place.bucket is None:
        raise OperationError("a sweep needs --bucket, the parking lot's")
    pages = s3.get_paginator("list_objects_v2")
    for page in pages.paginate(Bucket=place.bucket, Prefix=f"shardlane/{place.consumer}/"):
        for each in page.get("Contents", []):
            written_ms = round(each["LastModified"].timestamp() * 1000)
            yield StoredObject(each["Key"], each["Size"], written_ms)


def _named(clients: Clients, place: LotPlace) -> Iterator[str]:
    """A parked record has a gate, always: so the lots of all gates are all records."""
    store = open_store(clients, place)
    for gate in store.gates(place.consumer):
        for record in store.parked(place.consumer, gate.key_hash):
            if record.stored is not None and record.stored.bucket == place.bucket:
                yield record.stored.key
