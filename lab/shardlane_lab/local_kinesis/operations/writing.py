"""PutRecord and PutRecords.

Per shard 1 MiB and 1,000 records a second; entries of PutRecords fail one by one (PutRecords, API
Reference).
"""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.faults import FaultKind, Site
from shardlane_lab.local_kinesis.hash_key import SPACE, hash_key
from shardlane_lab.local_kinesis.record import StoredRecord, payload_bytes
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream


def put_record(call: Call) -> dict[str, Any]:
    stream, now_ms = call.account.usable_stream(call.request, call.now_ms), call.now_ms
    entry = _entry(stream, call.request)
    call.account.room_for(entry.size_bytes, now_ms)
    shard = _shard_for(stream, entry)
    _check_ordering(call, stream, shard)
    _dry_run(call)
    try:
        record = _written(call, stream, shard, entry)
    except ServiceError:
        call.account.emit("PutRecord.Success", 0, now_ms, StreamName=stream.name)
        raise
    shard.notify()
    _count_incoming(call, stream, entry.size_bytes, 1)
    call.account.emit("PutRecord.Success", 1, now_ms, StreamName=stream.name)
    call.account.emit("PutRecord.Bytes", entry.size_bytes, now_ms, "Bytes", StreamName=stream.name)
    call.account.emit(
        "PutRecord.Latency", call.took_ms, now_ms, "Milliseconds", StreamName=stream.name
    )
    answer = {"ShardId": shard.shard_id, "SequenceNumber": record.sequence_number}
    return answer | _encryption(stream)


def put_records(call: Call) -> dict[str, Any]:
    stream = call.account.usable_stream(call.request, call.now_ms)
    entries = _entries(call, stream)
    _dry_run(call)
    results: list[dict[str, Any]] = []
    touched: set[Shard] = set()
    failed = size_bytes = 0
    for entry in entries:
        shard = _shard_for(stream, entry)
        try:
            record = _written(call, stream, shard, entry)
        except ServiceError as error:
            failed += 1
            results.append({"ErrorCode": error.code, "ErrorMessage": error.message})
            continue
        size_bytes += entry.size_bytes
        touched.add(shard)
        results.append({"SequenceNumber": record.sequence_number, "ShardId": shard.shard_id})
    for shard in touched:
        shard.notify()
    _count_batch(call, stream, len(entries), failed, size_bytes)
    return {"FailedRecordCount": failed, "Records": results} | _encryption(stream)


class _Entry:
    """A record to write, checked. A plain class with slots: 500 are made for one call."""

    __slots__ = ("data", "explicit", "partition_key", "size_bytes")

    def __init__(self, partition_key: str, data: bytes, explicit: int | None) -> None:
        self.partition_key = partition_key
        self.data = data
        self.explicit = explicit
        """The hash key that overrides the partition key's."""
        self.size_bytes = payload_bytes(partition_key, data)


def _entries(call: Call, stream: Stream) -> list[_Entry]:
    """All of a batch; one that is wrong refuses the whole."""
    entries = [
        _entry(stream, values, number) for number, values in enumerate(call.request["Records"], 1)
    ]
    total_bytes = sum(entry.size_bytes for entry in entries)
    cap = call.account.limits.request_bytes
    if cap is not None and total_bytes > cap:
        raise errors.invalid_argument(f"Records size exceeds {cap // 2**20} MB limit")
    call.account.room_for(total_bytes, call.now_ms)
    return entries


def _entry(stream: Stream, values: dict[str, Any], number: int | None = None) -> _Entry:
    """``number`` is the entry's place in its batch, for the message."""
    key, data, explicit = values.get("PartitionKey"), values["Data"], values.get("ExplicitHashKey")
    if key is None and stream.settings.distribution != "AUTO":
        raise errors.validation(
            f"1 validation error detected: Value null at '{_path(number)}partitionKey' failed to "
            f"satisfy constraint: Member must not be null"
        )
    if len(data) > stream.settings.max_record_bytes:
        raise errors.validation(
            f"1 validation error detected: Value at '{_path(number)}data' failed to satisfy "
            f"constraint: Member must have length less than or equal to "
            f"{stream.settings.max_record_bytes}"
        )
    if explicit is not None and int(explicit) >= SPACE:
        raise errors.invalid_argument(
            f"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "
            f"Specified value was {explicit}"
        )
    return _Entry(key or "", data, None if explicit is None else int(explicit))


def _path(number: int | None) -> str:
    return "" if number is None else f"records.{number}.member."


def _shard_for(stream: Stream, entry: _Entry) -> Shard:
    if stream.settings.distribution == "AUTO":
        stream.round_robin += 1
        return stream.open_shards[stream.round_robin % len(stream.open_shards)]
    if entry.explicit is None:
        return stream.shard_for(hash_key(entry.partition_key))
    return stream.shard_for(entry.explicit)


def _check_ordering(call: Call, stream: Stream, shard: Shard) -> None:
    """``SequenceNumberForOrdering`` must be a number that was given out: what is written now must
    come after it."""
    floor = call.request.get("SequenceNumberForOrdering")
    if floor is None:
        return
    if int(floor) > int(shard.numbers.at(shard.numbers.counter)):
        raise errors.invalid_argument(
            f"ExclusiveMinimumSequenceNumber {floor} used in PutRecord on stream {stream.name} "
            f"under account {call.account.account} is invalid."
        )


def _dry_run(call: Call) -> None:
    if call.request.get("DryRun", False):
        raise errors.dry_run()


def _written(call: Call, stream: Stream, shard: Shard, entry: _Entry) -> StoredRecord:
    """Appends the record, or raises ``ProvisionedThroughputExceededException``."""
    account, now_ms, limiters = call.account, call.now_ms, shard.limiters
    skew_ms = 0.0
    if account.faults:
        site = Site(call.operation, stream.name, shard.shard_id)
        if account.faults.draw_one(FaultKind.THROTTLE, site) is not None:
            raise _rate_exceeded(call, stream, shard)
        skew_ms = account.faults.skew_ms(site)
    if not limiters.write_records.allows(now_ms, 1):
        raise _rate_exceeded(call, stream, shard)
    if not limiters.write_bytes.allows(now_ms, entry.size_bytes):
        raise _rate_exceeded(call, stream, shard)
    limiters.write_records.charge(now_ms, 1)
    limiters.write_bytes.charge(now_ms, entry.size_bytes)
    account.held_bytes += entry.size_bytes
    return shard.append(
        entry.partition_key, entry.data, entry.size_bytes, now_ms, skew_ms, account.visibility_ms()
    )


def _rate_exceeded(call: Call, stream: Stream, shard: Shard) -> ServiceError:
    account = call.account
    account.emit("WriteProvisionedThroughputExceeded", 1, call.now_ms, StreamName=stream.name)
    return errors.throughput_exceeded(
        f"Rate exceeded for shard {shard.shard_id} in stream {stream.name} under account "
        f"{account.account}."
    )


def _count_incoming(call: Call, stream: Stream, size_bytes: int, records: int) -> None:
    account, name = call.account, stream.name
    account.emit("IncomingBytes", size_bytes, call.now_ms, "Bytes", StreamName=name)
    account.emit("IncomingRecords", records, call.now_ms, StreamName=name)


def _count_batch(call: Call, stream: Stream, total: int, failed: int, size_bytes: int) -> None:
    account, now_ms, name = call.account, call.now_ms, stream.name
    written = total - failed
    if written:
        _count_incoming(call, stream, size_bytes, written)
    account.emit("PutRecords.Success", float(written > 0), now_ms, StreamName=name)
    account.emit("PutRecords.Bytes", size_bytes, now_ms, "Bytes", StreamName=name)
    account.emit("PutRecords.Latency", call.took_ms, now_ms, "Milliseconds", StreamName=name)
    account.emit("PutRecords.TotalRecords", total, now_ms, StreamName=name)
    account.emit("PutRecords.SuccessfulRecords", written, now_ms, StreamName=name)
    account.emit("PutRecords.ThrottledRecords", failed, now_ms, StreamName=name)
    account.emit("PutRecords.FailedRecords", 0, now_ms, StreamName=name)


def _encryption(stream: Stream) -> dict[str, str]:
    encryption = stream.settings.encryption
    return {} if encryption == "NONE" else {"EncryptionType": encryption}
