"""Where a request goes, told from its raw members: what fault rules match on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardlane_lab.local_kinesis.account import Account
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.faults import Site
from shardlane_lab.local_kinesis.token import shard_iterator

_SHARD_MEMBERS = ("ShardId", "ShardToSplit", "ShardToMerge")


def site_of(account: Account, operation: str, request: object) -> Site:
    """Never raises: a request that makes no sense is at no stream."""
    if not isinstance(request, Mapping):
        return Site(operation)
    iterator = request.get("ShardIterator")
    if isinstance(iterator, str):
        return _iterator_site(account, operation, iterator)
    stream, consumer = _names(request)
    shard = next((request[name] for name in _SHARD_MEMBERS if name in request), None)
    return Site(operation, stream, shard if isinstance(shard, str) else None, consumer)


def _names(request: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Of the stream and the consumer."""
    stream, consumer = request.get("StreamName"), request.get("ConsumerName")
    for member in ("StreamARN", "ResourceARN", "ConsumerARN"):
        arn = request.get(member)
        if isinstance(arn, str):
            path = arn.rpartition(":stream/")[2].split("/")
            stream = path[0]
            if len(path) == 3:
                consumer = path[2].partition(":")[0]
    return (
        stream if isinstance(stream, str) else None,
        consumer if isinstance(consumer, str) else None,
    )


def _iterator_site(account: Account, operation: str, text: str) -> Site:
    try:
        iterator = shard_iterator(text)
    except ServiceError:
        return Site(operation)
    stream = account.generations.get(iterator.generation)
    if stream is None:
        return Site(operation)
    return Site(operation, stream.name, f"shardId-{iterator.shard:012d}")
