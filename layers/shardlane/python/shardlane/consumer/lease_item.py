"""A lease as an item of the Kinesis Client Library's DynamoDB table.

Source: ``DynamoDBLeaseSerializer`` and ``DynamoDBMultiStreamLeaseSerializer`` in
awslabs/amazon-kinesis-client. Attributes that are not named here are the library's business: they
are never written, and stay, because an existing item is only ever updated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import StreamIdentity

Item = Mapping[str, Mapping[str, Any]]
"""Attribute values as DynamoDB's low-level API has them."""

LEASE_ENTITY = "LEASE"
"""``entityType`` of a lease, where it is set at all; other rows are the library's own."""


@dataclass(frozen=True, slots=True)
class LeaseKeys:
    """How a shard's item is named: by its id, or, in a table of several streams, by account,
    stream, creation epoch and id."""

    stream: StreamIdentity
    multi_stream: bool

    @property
    def stream_identifier(self) -> str:
        stream = self.stream
        return f"{stream.account}:{stream.name}:{stream.created_ms // 1000}"

    @property
    def prefix(self) -> str:
        return f"{self.stream_identifier}:" if self.multi_stream else ""

    def key(self, shard_id: str) -> dict[str, dict[str, str]]:
        return {"leaseKey": {"S": f"{self.prefix}{shard_id}"}}

    def shard_id(self, item: Item) -> str:
        return str(item["leaseKey"]["S"])[len(self.prefix) :]


def is_lease(item: Item) -> bool:
    return _text(item, "entityType") in (None, LEASE_ENTITY)


def is_multi_stream(item: Item) -> bool:
    return "streamName" in item


def stream_name(item: Item) -> str | None:
    """Which stream the item was written for, if we wrote it."""
    return _text(item, "slStreamName")


def lease_of(item: Item, keys: LeaseKeys) -> Lease:
    """Raises ``ValueError`` naming the row, if it is none that any version of the library
    writes."""
    try:
        return Lease(
            shard_id=keys.shard_id(item),
            counter=_number(item, "leaseCounter") or 0,
            owner=_text(item, "leaseOwner"),
            checkpoint_owner=_text(item, "checkpointOwner"),
            checkpoint=Checkpoint(
                item["checkpoint"]["S"], _number(item, "checkpointSubSequenceNumber") or 0
            ),
            switches=_number(item, "ownerSwitchesSinceCheckpoint") or 0,
            parents=_names(item, "parentShardId"),
            children=_names(item, "childShardIds"),
            hash_range=_hash_range(item),
            stream_created_ms=_number(item, "slStreamCreated"),
            start_ms=_number(item, "slStartMs"),
        )
    except (KeyError, ValueError) as error:
        raise ValueError(f"the lease {item.get('leaseKey')} cannot be read: {error!r}") from error


def item_of(lease: Lease, keys: LeaseKeys) -> dict[str, dict[str, Any]]:
    """A new item."""
    item: dict[str, dict[str, Any]] = {
        **keys.key(lease.shard_id),
        "entityType": {"S": LEASE_ENTITY},
        "leaseCounter": {"N": str(lease.counter)},
        "checkpoint": {"S": lease.checkpoint.value},
        "checkpointSubSequenceNumber": {"N": str(lease.checkpoint.sub)},
        "ownerSwitchesSinceCheckpoint": {"N": str(lease.switches)},
        "slStreamName": {"S": keys.stream.name},
    }
    if lease.owner is not None:
        item["leaseOwner"] = {"S": lease.owner}
    if lease.checkpoint_owner is not None:
        item["checkpointOwner"] = {"S": lease.checkpoint_owner}
    if lease.parents:
        item["parentShardId"] = {"SS": sorted(lease.parents)}
    if lease.children:
        item["childShardIds"] = {"SS": sorted(lease.children)}
    if lease.hash_range is not None:
        item["startingHashKey"] = {"S": lease.hash_range[0]}
        item["endingHashKey"] = {"S": lease.hash_range[1]}
    if lease.stream_created_ms is not None:
        item["slStreamCreated"] = {"N": str(lease.stream_created_ms)}
    if lease.start_ms is not None:
        item["slStartMs"] = {"N": str(lease.start_ms)}
    if keys.multi_stream:
        item["streamName"] = {"S": keys.stream_identifier}
        item["shardId"] = {"S": lease.shard_id}
    return item


def _text(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def _number(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _names(item: Item, name: str) -> frozenset[str]:
    return frozenset(item[name]["SS"]) if name in item else frozenset()


def _hash_range(item: Item) -> tuple[str, str] | None:
    first, last = _text(item, "startingHashKey"), _text(item, "endingHashKey")
    return None if first is None or last is None else (first, last)
