"""SplitShard, MergeShards and UpdateShardCount.

The parents close, stay listed and readable until retention passes, and name their children in
the last answer to a reader (SplitShard, MergeShards and GetRecords, API Reference).
"""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.hash_key import HashKeyRange
from shardlane_lab.local_kinesis.operations.reading import existing_shard
from shardlane_lab.local_kinesis.scaling import Merge, Split, steps_to
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Change, Stream

_MS_PER_DAY = 86_400_000.0


def split_shard(call: Call) -> dict[str, Any]:
    stream = _provisioned_stream(call)
    shard = _open_shard(call, stream, call.request["ShardToSplit"])
    at = int(call.request["NewStartingHashKey"])
    if not shard.keys.start + 1 < at < shard.keys.end:
        raise errors.invalid_argument(
            f"NewStartingHashKey {at} used in SplitShard() on shard {shard.shard_id} in stream "
            f"{stream.name} under account {call.account.account} is not both greater than one "
            f"plus the shard's StartingHashKey {shard.keys.start} and less than the shard's "
            f"EndingHashKey {shard.keys.end}."
        )
    call.account.check_shard_room(1)
    _reshard(call, stream, [Split(shard.keys, at)])
    return {}


def merge_shards(call: Call) -> dict[str, Any]:
    stream, request = _provisioned_stream(call), call.request
    shard = _open_shard(call, stream, request["ShardToMerge"])
    other = _open_shard(call, stream, request["AdjacentShardToMerge"])
    if not shard.keys.touches(other.keys):
        raise errors.invalid_argument(
            f"Shards {shard.shard_id} and {other.shard_id} in stream {stream.name} under account "
            f"{call.account.account} are not an adjacent pair of shards eligible for merging"
        )
    _reshard(call, stream, [Merge(shard.keys, other.keys)])
    return {}


def update_shard_count(call: Call) -> dict[str, Any]:
    stream, target = _provisioned_stream(call), call.request["TargetShardCount"]
    current = len(stream.open_shards)
    _check_scaling(call, stream, current, target)
    call.account.check_shard_room(target - current)
    stream.scaled_ms.append(call.now_ms)
    _reshard(call, stream, steps_to([shard.keys for shard in stream.open_shards], target))
    return {
        "StreamName": stream.name,
        "CurrentShardCount": current,
        "TargetShardCount": target,
        "StreamARN": stream.arn,
    }


def _check_scaling(call: Call, stream: Stream, current: int, target: int) -> None:
    per_day = call.account.limits.scalings_per_day
    if per_day is None:
        return
    while stream.scaled_ms and stream.scaled_ms[0] <= call.now_ms - _MS_PER_DAY:
        stream.scaled_ms.popleft()
    if len(stream.scaled_ms) >= per_day:
        raise errors.limit_exceeded(
            f"Stream {stream.name} was scaled {per_day} times in the last 24 hours."
        )
    if target > 2 * current:
        raise errors.limit_exceeded(
            f"UpdateShardCount cannot scale up over double your current open shard count. "
            f"Current open shard count: {current} Target shard count: {target}"
        )
    if target * 2 < current:
        raise errors.limit_exceeded(
            f"UpdateShardCount cannot scale down below half your current open shard count. "
            f"Current open shard count: {current} Target shard count: {target}"
        )


def _provisioned_stream(call: Call) -> Stream:
    stream = call.account.active_stream(call.request, call.now_ms)
    if stream.settings.mode != "PROVISIONED":
        raise errors.validation(
            f"Request is invalid. Stream {stream.name} under account {call.account.account} is "
            f"in On-Demand mode."
        )
    return stream


def _open_shard(call: Call, stream: Stream, shard_id: str) -> Shard:
    shard = existing_shard(call, stream, shard_id)
    if not shard.open:
        raise errors.invalid_argument(
            f"Shard {shard_id} in stream {stream.name} under account {call.account.account} has "
            f"already been merged or split, and thus is not eligible for merging or splitting."
        )
    return shard


def _reshard(call: Call, stream: Stream, steps: list[Split | Merge]) -> None:
    """Takes effect when the stream has been UPDATING for as long as the delays say. Nothing else
    may change the shards before: that needs the status ACTIVE."""

    def apply(at_ms: float) -> None:
        by_keys = {shard.keys: shard for shard in stream.open_shards}
        for step in steps:
            parents, ranges = _parts(step)
            children = stream.replace(tuple(by_keys[keys] for keys in parents), ranges, at_ms)
            by_keys.update((child.keys, child) for child in children)
        stream.resharded()

    due_ms = call.now_ms + call.account.delays.status_change_ms
    stream.change(Change(due_ms, "UPDATING", apply))
    stream.settle(call.now_ms)
    stream.notify_all()


def _parts(step: Split | Merge) -> tuple[list[HashKeyRange], list[HashKeyRange]]:
    """What closes and what opens."""
    if isinstance(step, Split):
        return [step.parent], step.children
    return [step.low, step.high], [step.child]
