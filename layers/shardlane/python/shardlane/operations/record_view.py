"""A record as ``shardlane peek`` shows it: metadata always, key and payload when asked for."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shardlane.aggregate import unpack
from shardlane.errors import BadRecord
from shardlane.operations.stream_reader import ReadRecord
from shardlane.operations.wording import bytes_text, moment, shown_key
from shardlane.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What may be shown."""

    keys: bool
    payload: bool


def record_from_stream(read: ReadRecord, stream: str, source_arn: str) -> Record:
    return Record(
        stream=stream,
        shard_id=read.shard_id,
        sequence_number=read.sequence_number,
        partition_key=read.key,
        data=read.data,
        arrival_ms=read.arrival_ms,
        source_arn=source_arn,
    )


def record_from_entry(entry: Any) -> Record:
    """From an entry of a Lambda event. Raises ``BadRecord`` if it names no place."""
    try:
        kinesis = entry["kinesis"]
        return Record.from_event(
            entry, str(kinesis["sequenceNumber"]), str(kinesis.get("partitionKey", ""))
        )
    except (KeyError, TypeError) as error:
        raise BadRecord(f"an entry without {error}") from error


def as_lines(record: Record, shown: Shown) -> Iterator[str]:
    """A damaged record is shown as far as it can be read."""
    yield f"{record.shard_id} {record.sequence_number}"
    yield f"  key      {shown_key(record.partition_key, in_clear=shown.keys)}"
    yield f"  arrived  {moment(record.arrival_ms)}"
    try:
        data = record.data
    except BadRecord as error:
        yield f"  data     cannot be read: {error}"
        return
    yield f"  data     {bytes_text(len(data))}, {kind_of(data)}"
    if shown.payload:
        yield from (f"  | {line}" for line in payload_text(data).splitlines() or [""])


def as_json(record: Record, shown: Shown) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "stream": record.stream,
        "shard_id": record.shard_id,
        "sequence_number": record.sequence_number,
        "key": shown_key(record.partition_key, in_clear=shown.keys),
        "arrival_ms": record.arrival_ms,
    }
    try:
        data = record.data
    except BadRecord as error:
        return fields | {"data_error": str(error)}
    fields |= {"size_bytes": len(data), "kind": kind_of(data)}
    return fields | ({"data_base64": base64.b64encode(data).decode()} if shown.payload else {})


def kind_of(data: bytes) -> str:
    """What the bytes look like, without showing any of them."""
    inner = unpack(data)
    if inner is not None:
        return f"a KPL aggregate of {len(inner)} records"
    if data.startswith(b"\x1f\x8b"):
        return "gzip"
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"binary (not UTF-8 at byte {error.start})"
    try:
        return f"JSON {_JSON_KINDS[type(json.loads(text))]}"
    except ValueError:
        return "text that is not JSON" if text else "empty"


_JSON_KINDS = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def payload_text(data: bytes) -> str:
    """JSON indented, other text as it is with control characters escaped, anything else base64."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        # A terminal must not take its orders from a record.
        return "".join(
            each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text
        )
