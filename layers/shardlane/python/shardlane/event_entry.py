"""One entry of a Lambda event's ``Records``: what a record reads from it, each field when it is
used, and how a record is written as one.

The shape is that of the AWS Lambda developer guide, "Using Lambda to process records from Amazon
Kinesis Data Streams".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from shardlane.errors import BadRecord

if TYPE_CHECKING:
    from shardlane.record import Record

RawRecord = Mapping[str, Any]
"""An entry as parsed JSON."""

OURS: Final = "shardlane"
"""The field of an entry that holds what we add to a redriven record; the service's have none."""

from_base64 = binascii.a2b_base64
"""With ``strict_mode=True`` always: the lenient decoder turns garbage into b"" and the record
counts as handled."""


def _load_data(event: RawRecord) -> bytes:
    encoded = event["kinesis"].get("data")
    if not isinstance(encoded, str):
        raise BadRecord(f"kinesis.data is {type(encoded).__name__}, not a base64 string")
    try:
        return from_base64(encoded, strict_mode=True)
    except ValueError as error:
        raise BadRecord(f"kinesis.data is not base64: {error}") from error


def _load_arrival_ms(event: RawRecord) -> int:
    seconds = event["kinesis"].get("approximateArrivalTimestamp")
    try:
        return round(float(seconds) * 1000)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRecord(
            f"kinesis.approximateArrivalTimestamp is {seconds!r}, not epoch seconds"
        ) from error


def _load_shard_id(event: RawRecord) -> str:
    # eventID is "shardId-000000000000:SEQUENCE".
    shard_id, colon, _ = str(event.get("eventID")).partition(":")
    if not colon:
        raise BadRecord("eventID is not SHARD:SEQUENCE")
    return shard_id


def _load_stream(event: RawRecord) -> str:
    # The stream's ARN, or a registered consumer's, which goes on "/consumer/NAME:CREATION".
    _, slash, rest = str(event.get("eventSourceARN")).partition(":stream/")
    if not slash:
        raise BadRecord("eventSourceARN is not the ARN of a stream or of its consumer")
    return rest.partition("/")[0]


def _load_sub_sequence_number(event: RawRecord | None) -> int:
    # A record of an aggregate that comes back from the parking lot stands alone.
    ours = event.get(OURS) if event is not None else None
    return int(ours.get("sub_sequence_number", 0)) if isinstance(ours, dict) else 0


LOADERS: Mapping[str, Callable[[Any], Any]] = {
    "arrival_ms": _load_arrival_ms,
    "data": _load_data,
    "shard_id": _load_shard_id,
    "stream": _load_stream,
    "source_arn": lambda event: "" if event is None else str(event.get("eventSourceARN", "")),
    "sub_sequence_number": _load_sub_sequence_number,
    "value": lambda event: None,
}


def entry_of(record: Record) -> RawRecord:
    """The entry that brings ``record`` back."""
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": record.partition_key,
            "sequenceNumber": record.sequence_number,
            "data": base64.b64encode(record.data).decode("ascii"),
            "approximateArrivalTimestamp": record.arrival_ms / 1000,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{record.shard_id}:{record.sequence_number}",
        "eventName": "aws:kinesis:record",
        # With no ARN on record, one that still names the stream.
        "eventSourceARN": record.source_arn or f"arn:aws:kinesis:::stream/{record.stream}",
    } | ({OURS: {"sub_sequence_number": sub}} if (sub := record.sub_sequence_number) else {})
