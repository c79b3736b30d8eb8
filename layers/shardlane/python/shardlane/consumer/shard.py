"""A shard as ListShards, or the last answer of its parent, describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.lease import Lease


@dataclass(frozen=True, slots=True)
class Shard:
    shard_id: str
    parents: frozenset[str] = frozenset()
    """Two after a merge."""
    hash_range: tuple[str, str] | None = None
    """First and last hash key, decimal."""

    def lease(
        self, checkpoint: Checkpoint, stream_created_ms: int, start_ms: int | None = None
    ) -> Lease:
        """A new lease of it that nobody owns."""
        return Lease(
            shard_id=self.shard_id,
            checkpoint=checkpoint,
            parents=self.parents,
            hash_range=self.hash_range,
            stream_created_ms=stream_created_ms,
            start_ms=start_ms,
        )


def listed_shard(answer: Mapping[str, Any]) -> Shard:
    """One of ``Shards`` of ListShards."""
    parents = (answer.get("ParentShardId"), answer.get("AdjacentParentShardId"))
    return Shard(
        answer["ShardId"],
        frozenset(parent for parent in parents if parent),
        _hash_range(answer),
    )


def child_shard(answer: Mapping[str, Any]) -> Shard:
    """One of ``ChildShards`` of GetRecords or SubscribeToShardEvent."""
    return Shard(answer["ShardId"], frozenset(answer["ParentShards"]), _hash_range(answer))


def _hash_range(answer: Mapping[str, Any]) -> tuple[str, str] | None:
    keys = answer.get("HashKeyRange")
    return None if keys is None else (keys["StartingHashKey"], keys["EndingHashKey"])
