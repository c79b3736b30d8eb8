"""CreateStream, DeleteStream, ListStreams and the Describe operations of streams."""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.operations.tagging import checked_tags
from shardlane_lab.local_kinesis.stream import Change, Stream, StreamSettings

_LISTED_STREAMS = 100
_DESCRIBED_SHARDS = 100
_ON_DEMAND_SHARDS = 4
"""What a new on-demand stream starts with (CreateStream, API Reference)."""


def create_stream(call: Call) -> dict[str, Any]:
    account, request, now_ms = call.account, call.request, call.now_ms
    name = request["StreamName"]
    if account.existing(name, now_ms) is not None:
        raise errors.in_use(f"Stream {name} under account {account.account} already exists.")
    settings = _settings(call)
    count = _shard_count(request, settings.mode)
    _check_room(call, count)
    generation = len(account.generations) + 1
    stream = Stream(
        name,
        account.stream_arn(name),
        generation,
        now_ms,
        settings,
        account.limits,
        account.random(f"sequence/{name}/{generation}"),
    )
    account.streams[name] = account.generations[generation] = stream
    stream.change(
        Change(
            now_ms + account.delays.status_change_ms,
            "CREATING",
            lambda at_ms: stream.add_even_shards(count, at_ms),
        )
    )
    stream.settle(now_ms)
    return {}


def _settings(call: Call) -> StreamSettings:
    request = call.request
    settings = StreamSettings(
        mode=request.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED"),
        max_record_kib=request.get("MaxRecordSizeInKiB", 1024),
        distribution=request.get("RecordDistributionStrategy", "USER_PARTITION_KEY"),
        warm_mibps=request.get("WarmThroughputMiBps"),
    )
    if settings.distribution == "AUTO" and settings.mode != "ON_DEMAND":
        raise errors.validation("RecordDistributionStrategy AUTO needs a stream in ON_DEMAND mode.")
    settings.tags = checked_tags(call, {}, request.get("Tags", {}))
    return settings


def _shard_count(request: dict[str, Any], mode: str) -> int:
    count: int | None = request.get("ShardCount")
    if mode == "ON_DEMAND":
        if count is not None:
            raise errors.validation("ShardCount is not supported for a stream in ON_DEMAND mode.")
        return _ON_DEMAND_SHARDS
    if count is None:
        raise errors.validation("ShardCount is required for a stream in PROVISIONED mode.")
    return count


def _check_room(call: Call, shards: int) -> None:
    limits, account = call.account.limits, call.account
    streams = account.settled_streams(call.now_ms)
    creating = sum(stream.status == "CREATING" for stream in streams)
    if limits.creating_streams is not None and creating >= limits.creating_streams:
        raise errors.limit_exceeded(
            f"This request would exceed the number of streams that may be in status CREATING: "
            f"{limits.creating_streams}."
        )
    account.check_shard_room(shards)


def delete_stream(call: Call) -> dict[str, Any]:
    account, now_ms = call.account, call.now_ms
    stream = account.stream(call.request, now_ms)
    if stream.status == "DELETING":
        return {}
    if stream.consumers and not call.request.get("EnforceConsumerDeletion", False):
        raise errors.in_use(
            f"Stream {stream.name} under account {account.account} has registered consumers "
            f"({', '.join(sorted(stream.consumers))}): deregister them first, or set "
            f"EnforceConsumerDeletion."
        )
    _end_subscriptions(call, stream)

    def remove(_at_ms: float) -> None:
        stream.gone = True
        account.held_bytes -= stream.held_bytes
        if account.streams.get(stream.name) is stream:
            del account.streams[stream.name]

    stream.delete(Change(now_ms + account.delays.status_change_ms, "DELETING", remove))
    stream.settle(now_ms)
    return {}


def _end_subscriptions(call: Call, stream: Stream) -> None:
    for consumer in stream.consumers.values():
        for access in consumer.access.values():
            if access.subscription is not None:
                access.subscription.fail(call.account.no_stream(stream.name))


def list_streams(call: Call) -> dict[str, Any]:
    request = call.request
    after = request.get("ExclusiveStartStreamName", request.get("NextToken", ""))
    limit = request.get("Limit", _LISTED_STREAMS)
    streams = [s for s in call.account.settled_streams(call.now_ms) if s.name > after]
    shown = streams[:limit]
    answer: dict[str, Any] = {
        "StreamNames": [stream.name for stream in shown],
        "HasMoreStreams": len(streams) > limit,
        "StreamSummaries": [_summary(stream) for stream in shown],
    }
    if len(streams) > limit:
        answer["NextToken"] = shown[-1].name
    return answer


def _summary(stream: Stream) -> dict[str, Any]:
    described = stream.described()
    names = (
        "StreamName",
        "StreamARN",
        "StreamStatus",
        "StreamModeDetails",
        "StreamCreationTimestamp",
    )
    return {name: described[name] for name in names}


def describe_stream(call: Call) -> dict[str, Any]:
    request = call.request
    stream = call.account.stream(request, call.now_ms)
    after = request.get("ExclusiveStartShardId", "")
    limit = request.get("Limit", _DESCRIBED_SHARDS)
    shards = [shard for shard in stream.listed(call.now_ms) if shard.shard_id > after]
    return {
        "StreamDescription": stream.described()
        | {
            "Shards": [shard.as_dict() for shard in shards[:limit]],
            "HasMoreShards": len(shards) > limit,
        }
    }


def describe_stream_summary(call: Call) -> dict[str, Any]:
    stream = call.account.stream(call.request, call.now_ms)
    summary = stream.described() | {
        "OpenShardCount": len(stream.open_shards),
        "ConsumerCount": len(stream.consumers),
        "MaxRecordSizeInKiB": stream.settings.max_record_kib,
        "RecordDistributionStrategy": stream.settings.distribution,
    }
    if stream.settings.warm_mibps is not None:
        summary["WarmThroughput"] = {
            "TargetMiBps": stream.settings.warm_mibps,
            "CurrentMiBps": stream.settings.warm_mibps,
        }
    return {"StreamDescriptionSummary": summary}


def describe_limits(call: Call) -> dict[str, Any]:
    account = call.account
    streams = account.settled_streams(call.now_ms)
    return {
        "ShardLimit": account.limits.shards_per_account or 1_000_000,
        "OpenShardCount": account.open_shard_count,
        "OnDemandStreamCount": sum(s.settings.mode == "ON_DEMAND" for s in streams),
        "OnDemandStreamCountLimit": 50,
    }
