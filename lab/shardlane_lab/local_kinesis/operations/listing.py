"""ListShards: pages, filters and token rules (ListShards, API Reference)."""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream
from shardlane_lab.local_kinesis.token import Page, page

_LISTED_SHARDS = 1000
_WITH_TOKEN = ("StreamName", "StreamCreationTimestamp", "ExclusiveStartShardId", "ShardFilter")
"""What must not come together with a ``NextToken``. A ``StreamARN`` may."""


def list_shards(call: Call) -> dict[str, Any]:
    account, request, now_ms = call.account, call.request, call.now_ms
    if "NextToken" in request:
        stream, options, after = _next_page(call)
    else:
        stream, options, after = account.stream(request, now_ms), _options(request), None
    if not stream.list_shards.allows(now_ms, 1):
        raise errors.limit_exceeded(f"Rate exceeded for ListShards of stream {stream.name}.")
    stream.list_shards.charge(now_ms, 1)
    shards = _filtered(stream, options, now_ms)
    if after is not None:
        shards = [shard for shard in shards if shard.shard_id > after]
    limit = request.get("MaxResults", _LISTED_SHARDS)
    answer: dict[str, Any] = {"Shards": [shard.as_dict() for shard in shards[:limit]]}
    if len(shards) > limit:
        last = shards[limit - 1].shard_id
        answer["NextToken"] = Page("ListShards", stream.generation, last, now_ms, options).text()
    return answer


def _next_page(call: Call) -> tuple[Stream, dict[str, Any], str]:
    beside = [name for name in _WITH_TOKEN if name in call.request]
    if beside:
        raise errors.invalid_argument(f"NextToken and {beside[0]} cannot be provided together.")
    token = page(call.request["NextToken"], "ListShards")
    call.account.check_token_life(token, call.now_ms)
    stream = call.account.generations.get(token.generation)
    if stream is None:
        raise errors.invalid_argument("The NextToken is invalid.")
    stream.settle(call.now_ms)
    if stream.gone:
        raise call.account.no_stream(stream.name)
    return stream, token.options, token.after


def _options(request: dict[str, Any]) -> dict[str, Any]:
    """What decides which shards are listed, checked: the same on every page."""
    options: dict[str, Any] = {}
    if "ExclusiveStartShardId" in request:
        options["after"] = request["ExclusiveStartShardId"]
    chosen = request.get("ShardFilter")
    if chosen is None:
        return options
    kind = chosen["Type"]
    needs_time = kind in ("AT_TIMESTAMP", "FROM_TIMESTAMP")
    if needs_time != ("Timestamp" in chosen):
        raise errors.invalid_argument(
            f"ShardFilter of type {kind} {'needs a' if needs_time else 'takes no'} Timestamp."
        )
    if (kind == "AFTER_SHARD_ID") != ("ShardId" in chosen):
        needs = "needs a" if kind == "AFTER_SHARD_ID" else "takes no"
        raise errors.invalid_argument(f"ShardFilter of type {kind} {needs} ShardId.")
    return options | {"filter": kind, "at_s": chosen.get("Timestamp"), "id": chosen.get("ShardId")}


def _filtered(stream: Stream, options: dict[str, Any], now_ms: float) -> list[Shard]:
    shards = stream.listed(now_ms)
    if "after" in options:
        shards = [shard for shard in shards if shard.shard_id > options["after"]]
    kind = options.get("filter", "FROM_TRIM_HORIZON")
    if kind == "AFTER_SHARD_ID":
        return [shard for shard in shards if shard.shard_id > options["id"]]
    if kind == "AT_LATEST":
        return [shard for shard in shards if shard.open]
    if kind == "FROM_TRIM_HORIZON":
        return shards
    horizon_ms = max(stream.horizon_ms(now_ms), stream.created_ms)
    at_ms = horizon_ms if kind == "AT_TRIM_HORIZON" else options["at_s"] * 1000
    at_ms = max(at_ms, horizon_ms)
    if kind == "FROM_TIMESTAMP":
        return [shard for shard in shards if _ends_from(shard, at_ms)]
    return [shard for shard in shards if shard.born_ms <= at_ms and _ends_from(shard, at_ms)]


def _ends_from(shard: Shard, at_ms: float) -> bool:
    return shard.closed_ms is None or shard.closed_ms >= at_ms
