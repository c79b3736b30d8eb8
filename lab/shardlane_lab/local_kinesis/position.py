"""Where a reader starts: the five iterator types.

Source: GetShardIterator and StartingPosition in the API Reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream


@dataclass(frozen=True, slots=True)
class Position:
    kind: str
    """``TRIM_HORIZON``, ``LATEST``, ``AT_TIMESTAMP``, ``AT_SEQUENCE_NUMBER`` or
    ``AFTER_SEQUENCE_NUMBER``."""
    sequence_number: str | None = None
    timestamp_s: float | None = None


def start_index(
    call: Call, stream: Stream, shard: Shard, position: Position, operation: str
) -> int:
    """The index in ``shard`` at which ``position`` starts reading.

    Raises ``InvalidArgumentException`` if a value is missing, in the future or of another shard.
    """
    shard.trim(stream.horizon_ms(call.now_ms))
    if position.kind == "TRIM_HORIZON":
        return shard.first_index
    if position.kind == "LATEST":
        return shard.end_index
    if position.kind == "AT_TIMESTAMP":
        return _at_timestamp(call, shard, position)
    return _at_number(call, stream, shard, position, operation)


def _at_timestamp(call: Call, shard: Shard, position: Position) -> int:
    if position.timestamp_s is None:
        raise errors.invalid_argument(
            "Must either specify timestamp or not specify iterator type AT_TIMESTAMP."
        )
    at_ms = round(position.timestamp_s * 1000)
    if at_ms > math.ceil(call.now_ms):
        raise errors.invalid_argument(
            f"The timestampInMillis parameter cannot be greater than the "
            f"currentTimestampInMillis. timestampInMillis: {at_ms}, "
            f"currentTimestampInMillis: {int(call.now_ms)}"
        )
    return shard.index_at_time(at_ms)


def _at_number(call: Call, stream: Stream, shard: Shard, position: Position, operation: str) -> int:
    number = position.sequence_number
    if number is None:
        raise errors.invalid_argument(
            f"Must either specify a starting sequence number or not specify iterator type "
            f"{position.kind}."
        )
    index = shard.index_of(number, after=position.kind == "AFTER_SEQUENCE_NUMBER")
    if index is None:
        raise errors.invalid_argument(
            f"StartingSequenceNumber {number} used in {operation} on shard {shard.shard_id} in "
            f"stream {stream.name} under account {call.account.account} is invalid because it "
            f"did not come from this stream."
        )
    return index
