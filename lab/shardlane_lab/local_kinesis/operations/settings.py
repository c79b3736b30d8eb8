"""What a caller may set on a stream: retention is obeyed, the rest is checked and echoed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.stream import Change, Stream

_LEAST_HOURS = 24
_MOST_HOURS = 8760
_ALL_METRICS = (
    "IncomingBytes",
    "IncomingRecords",
    "OutgoingBytes",
    "OutgoingRecords",
    "WriteProvisionedThroughputExceeded",
    "ReadProvisionedThroughputExceeded",
    "IteratorAgeMilliseconds",
)


def _updating(call: Call, stream: Stream) -> None:
    """The stream is UPDATING for as long as the delays say; the setting itself holds at once."""
    due_ms = call.now_ms + call.account.delays.status_change_ms
    stream.change(Change(due_ms, "UPDATING", lambda _at_ms: None))
    stream.settle(call.now_ms)


def increase_retention(call: Call) -> dict[str, Any]:
    stream, hours = _retention(call)
    if hours < stream.settings.retention_h:
        raise errors.invalid_argument(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be "
            f"shorter than existing retention period ({stream.settings.retention_h} hours). "
            f"Use DecreaseRetentionPeriod API."
        )
    return _retain(call, stream, hours)


def decrease_retention(call: Call) -> dict[str, Any]:
    stream, hours = _retention(call)
    if hours > stream.settings.retention_h:
        raise errors.invalid_argument(
            f"Requested retention period ({hours} hours) for stream {stream.name} can not be "
            f"longer than existing retention period ({stream.settings.retention_h} hours). "
            f"Use IncreaseRetentionPeriod API."
        )
    return _retain(call, stream, hours)


def _retention(call: Call) -> tuple[Stream, int]:
    stream = call.account.active_stream(call.request, call.now_ms)
    hours: int = call.request["RetentionPeriodHours"]
    if hours < _LEAST_HOURS:
        raise errors.invalid_argument(
            f"Minimum allowed retention period is {_LEAST_HOURS} hours. Requested retention "
            f"period ({hours} hours) is too short."
        )
    if hours > _MOST_HOURS:
        raise errors.invalid_argument(
            f"Maximum allowed retention period is {_MOST_HOURS} hours. Requested retention "
            f"period ({hours} hours) is too long."
        )
    return stream, hours


def _retain(call: Call, stream: Stream, hours: int) -> dict[str, Any]:
    stream.trim(call.now_ms)  # a longer retention does not bring back what is gone
    stream.settings.retention_h = hours
    _updating(call, stream)
    return {}


def start_encryption(call: Call) -> dict[str, Any]:
    stream = call.account.active_stream(call.request, call.now_ms)
    stream.settings.encryption = call.request["EncryptionType"]
    stream.settings.key_id = call.request["KeyId"]
    _updating(call, stream)
    return {}


def stop_encryption(call: Call) -> dict[str, Any]:
    stream = call.account.active_stream(call.request, call.now_ms)
    stream.settings.encryption, stream.settings.key_id = "NONE", None
    _updating(call, stream)
    return {}


def enable_monitoring(call: Call) -> dict[str, Any]:
    return _monitor(call, lambda present, asked: present | asked)


def disable_monitoring(call: Call) -> dict[str, Any]:
    return _monitor(call, lambda present, asked: present - asked)


def _monitor(call: Call, combine: Callable[[set[str], set[str]], set[str]]) -> dict[str, Any]:
    stream = call.account.active_stream(call.request, call.now_ms)
    asked = set(call.request["ShardLevelMetrics"])
    if "ALL" in asked:
        asked = set(_ALL_METRICS)
    before = list(stream.settings.shard_metrics)
    after = combine(set(before), asked)
    stream.settings.shard_metrics = [name for name in _ALL_METRICS if name in after]
    _updating(call, stream)
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardLevelMetrics": before,
        "DesiredShardLevelMetrics": list(stream.settings.shard_metrics),
    }


def update_mode(call: Call) -> dict[str, Any]:
    stream = call.account.active_stream(call.request, call.now_ms)
    stream.settings.mode = call.request["StreamModeDetails"]["StreamMode"]
    _updating(call, stream)
    return {}


def update_max_record_size(call: Call) -> dict[str, Any]:
    stream = call.account.active_stream(call.request, call.now_ms)
    stream.settings.max_record_kib = call.request["MaxRecordSizeInKiB"]
    _updating(call, stream)
    return {}


def put_policy(call: Call) -> dict[str, Any]:
    _stream_of_resource(call).settings.policy = call.request["Policy"]
    return {}


def get_policy(call: Call) -> dict[str, Any]:
    policy = _stream_of_resource(call).settings.policy
    if policy is None:
        raise errors.not_found(f"No resource policy found for {call.request['ResourceARN']}.")
    return {"Policy": policy}


def delete_policy(call: Call) -> dict[str, Any]:
    _stream_of_resource(call).settings.policy = None
    return {}


def _stream_of_resource(call: Call) -> Stream:
    return call.account.stream({"StreamARN": call.request["ResourceARN"]}, call.now_ms)
