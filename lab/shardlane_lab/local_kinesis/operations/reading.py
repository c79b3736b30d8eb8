"""GetShardIterator and GetRecords: polling with shared throughput."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.faults import FaultKind, Site
from shardlane_lab.local_kinesis.position import Position, start_index
from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream
from shardlane_lab.local_kinesis.token import ShardIterator, shard_iterator


def get_shard_iterator(call: Call) -> dict[str, Any]:
    account, request, now_ms = call.account, call.request, call.now_ms
    stream = account.usable_stream(request, now_ms)
    shard = existing_shard(call, stream, request["ShardId"])
    calls = shard.limiters.get_shard_iterator
    if not calls.allows(now_ms, 1):
        raise _rate_exceeded(call, stream, shard)
    position = Position(
        request["ShardIteratorType"],
        request.get("StartingSequenceNumber"),
        request.get("Timestamp"),
    )
    index = start_index(call, stream, shard, position, "GetShardIterator")
    if request.get("DryRun", False):
        raise errors.dry_run()
    calls.charge(now_ms, 1)
    return {"ShardIterator": _iterator(call, stream, shard, index)}


def existing_shard(call: Call, stream: Stream, shard_id: str) -> Shard:
    """Raises ``ResourceNotFoundException`` for a shard that never was or that is expired."""
    shard = stream.shard_named(shard_id)
    if shard is None or stream.expired(shard, call.now_ms):
        raise errors.not_found(
            f"Shard {shard_id} in stream {stream.name} under account {call.account.account} "
            f"does not exist"
        )
    return shard


def get_records(call: Call) -> dict[str, Any]:
    """``Records`` holds ``StoredRecord``s: the model's callers turn them into what they need."""
    account, now_ms = call.account, call.now_ms
    iterator = shard_iterator(call.request["ShardIterator"])
    stream, shard = _place(call, iterator)
    try:
        _check_age(call, stream, shard, iterator)
        _admit(call, stream, shard)
    except errors.ServiceError:
        account.emit("GetRecords.Success", 0, now_ms, StreamName=stream.name)
        raise
    shard.trim(stream.horizon_ms(now_ms))
    limits = account.limits
    count = call.request.get("Limit", limits.records_per_read)
    index = max(iterator.index, shard.first_index)
    records = shard.visible(
        index, now_ms, min(count, limits.records_per_read), limits.bytes_per_read
    )
    _charge(call, shard, records)
    _count(call, stream, records)
    return _answer(call, stream, shard, index, records)


def _place(call: Call, iterator: ShardIterator) -> tuple[Stream, Shard]:
    stream = call.account.generations.get(iterator.generation)
    if stream is None or iterator.shard >= len(stream.shards):
        raise errors.invalid_argument("Invalid ShardIterator.")
    stream.settle(call.now_ms)
    if stream.gone or not stream.usable:
        raise call.account.no_stream(stream.name)
    arn = call.request.get("StreamARN")
    if arn is not None and arn != stream.arn:
        raise errors.invalid_argument("The ShardIterator is not of the stream of StreamARN.")
    return stream, stream.shards[iterator.shard]


def _check_age(call: Call, stream: Stream, shard: Shard, iterator: ShardIterator) -> None:
    life_s = call.account.limits.iterator_life_s
    site = Site(call.operation, stream.name, shard.shard_id)
    forced = call.account.faults.draw_one(FaultKind.EXPIRED_ITERATOR, site) is not None
    old = life_s is not None and call.now_ms - iterator.issued_ms > life_s * 1000
    if not old and not forced:
        return
    age_ms = int(call.now_ms - iterator.issued_ms)
    raise errors.expired_iterator(
        f"Iterator expired. The iterator was created {age_ms} milliseconds ago while the maximum "
        f"age is {int((life_s or 0) * 1000)} milliseconds."
    )


def _admit(call: Call, stream: Stream, shard: Shard) -> None:
    """Five calls and 2 MiB a second, shared by all readers; Lambda's poller is counted, never
    refused."""
    limiters, now_ms = shard.limiters, call.now_ms
    site = Site(call.operation, stream.name, shard.shard_id)
    if call.account.faults.draw_one(FaultKind.THROTTLE, site) is not None:
        raise _rate_exceeded(call, stream, shard)
    if call.caller is Caller.API and not (
        limiters.get_records.allows(now_ms, 1)
        and limiters.read_bytes.allows(now_ms, 1)
        and now_ms >= limiters.read_blocked_until_ms
    ):
        raise _rate_exceeded(call, stream, shard)
    if call.request.get("DryRun", False):
        raise errors.dry_run()
    limiters.get_records.charge(now_ms, 1)


def _rate_exceeded(call: Call, stream: Stream, shard: Shard) -> errors.ServiceError:
    call.account.emit("ReadProvisionedThroughputExceeded", 1, call.now_ms, StreamName=stream.name)
    return errors.throughput_exceeded(
        f"Rate exceeded for shard {shard.shard_id} in stream {stream.name} under account "
        f"{call.account.account}."
    )


def _charge(call: Call, shard: Shard, records: Sequence[StoredRecord]) -> None:
    rate = call.account.limits.read_bytes_per_s
    if rate is None or not records:
        return
    size_bytes = _size_bytes(records)
    shard.limiters.read_bytes.charge(call.now_ms, size_bytes)
    if size_bytes > rate:
        until_ms = call.now_ms + size_bytes / rate * 1000
        shard.limiters.read_blocked_until_ms = max(until_ms, shard.limiters.read_blocked_until_ms)


def _size_bytes(records: Sequence[StoredRecord]) -> int:
    return records[-1].end_bytes - records[0].end_bytes + records[0].size_bytes


def _count(call: Call, stream: Stream, records: Sequence[StoredRecord]) -> None:
    account, now_ms, name = call.account, call.now_ms, stream.name
    size_bytes = _size_bytes(records) if records else 0
    age_ms = max(0.0, now_ms - records[-1].written_ms) if records else 0.0
    account.emit("GetRecords.Success", 1, now_ms, StreamName=name)
    account.emit("GetRecords.Records", len(records), now_ms, StreamName=name)
    account.emit("GetRecords.Bytes", size_bytes, now_ms, "Bytes", StreamName=name)
    account.emit("GetRecords.Latency", call.took_ms, now_ms, "Milliseconds", StreamName=name)
    account.emit(
        "GetRecords.IteratorAgeMilliseconds", age_ms, now_ms, "Milliseconds", StreamName=name
    )


def _answer(
    call: Call, stream: Stream, shard: Shard, index: int, records: Sequence[StoredRecord]
) -> dict[str, Any]:
    following = index + len(records) - _repeated(call, stream, shard, len(records))
    answer: dict[str, Any] = {"Records": records}
    if not shard.open and following >= shard.end_index:
        answer["MillisBehindLatest"] = 0
        answer["ChildShards"] = shard.child_shards()
        return answer
    answer["NextShardIterator"] = _iterator(call, stream, shard, following)
    answer["MillisBehindLatest"] = behind_ms(shard, following, call.now_ms)
    return answer


def _repeated(call: Call, stream: Stream, shard: Shard, count: int) -> int:
    """How many of the records just read will come again: a fault by request."""
    site = Site(call.operation, stream.name, shard.shard_id)
    fault = call.account.faults.draw_one(FaultKind.DUPLICATE, site) if count else None
    return 0 if fault is None else min(fault.records, count)


def behind_ms(shard: Shard, index: int, now_ms: float) -> int:
    """The age of the next record that could be read, 0 at the tip."""
    if index >= shard.end_index or shard.record(index).visible_ms > now_ms:
        return 0
    return max(0, int(now_ms - shard.record(index).written_ms))


def _iterator(call: Call, stream: Stream, shard: Shard, index: int) -> str:
    call.account.serial += 1
    return ShardIterator(
        stream.generation, shard.number, index, call.now_ms, call.account.serial
    ).text()
