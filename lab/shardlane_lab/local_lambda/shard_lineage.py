"""Which shards may be read, and from where. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardlane_lab.local_lambda.checkpoint import Checkpoint, ShardEnd, starting_point
from shardlane_lab.local_lambda.mapping_config import MappingConfig


@dataclass(frozen=True, slots=True)
class ShardInfo:
    shard_id: str
    parents: tuple[str, ...]
    closed: bool


def shard_info(values: Mapping[str, Any]) -> ShardInfo:
    """From an entry of ``ListShards``."""
    parents = (values.get("ParentShardId"), values.get("AdjacentParentShardId"))
    return ShardInfo(
        shard_id=values["ShardId"],
        parents=tuple(each for each in parents if each),
        closed="EndingSequenceNumber" in values["SequenceNumberRange"],
    )


def passed_over(
    shards: Iterable[ShardInfo], known: Mapping[str, Checkpoint], config: MappingConfig
) -> set[str]:
    """Shards that count as finished although they were never read: a first start at LATEST
    begins at the tips, so what is closed lies behind it."""
    if known or config.starting_position != "LATEST":
        return set()
    return {each.shard_id for each in shards if each.closed}


def startable(
    shards: Sequence[ShardInfo], finished: Collection[str], running: Collection[str]
) -> list[ShardInfo]:
    """Shards whose parents are all finished, or gone from the stream: so a key's records are read
    in order across a split or a merge."""
    listed = {each.shard_id for each in shards}
    return [
        each
        for each in shards
        if each.shard_id not in finished
        and each.shard_id not in running
        and all(parent in finished or parent not in listed for parent in each.parents)
    ]


def position(
    shard: ShardInfo, known: Mapping[str, Checkpoint], config: MappingConfig
) -> dict[str, Any]:
    """A ``StartingPosition``. A child of a shard that this mapping read starts at its beginning,
    whatever the mapping's own starting position: anything else would skip what was written
    before the child was found."""
    checkpoint = known.get(shard.shard_id)
    if checkpoint is not None and not isinstance(checkpoint, ShardEnd):
        return starting_point(checkpoint)
    if any(parent in known for parent in shard.parents):
        return {"Type": "TRIM_HORIZON"}
    if config.starting_position == "AT_TIMESTAMP":
        return {"Type": "AT_TIMESTAMP", "Timestamp": config.starting_timestamp_s}
    return {"Type": config.starting_position}
