"""Bodies of requests and answers: one codec for each content type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import cbor2
import orjson

from shardlane_lab.local_kinesis.errors import ServiceError, serialization
from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.shape import Encoding
from shardlane_lab.local_kinesis.subscription import SubscribeToShardEvent


class Codec(Protocol):
    content_type: str
    encoding: Encoding
    empty: bytes
    """An object without members."""

    def decode(self, body: bytes) -> object:
        """Raises ``SerializationException`` if the body is not of this type."""
        ...

    def answer(self, answer: Mapping[str, Any]) -> bytes: ...

    def event(self, event: SubscribeToShardEvent) -> bytes: ...

    def error(self, error: ServiceError) -> bytes: ...


def _with_records(records: Sequence[StoredRecord], rest: dict[str, Any]) -> bytes:
    """``{"Records": [...], **rest}`` in one copy: an answer may have ten megabytes."""
    head, tail = b'{"Records":[', b"]," + orjson.dumps(rest)[1:]
    if not records:
        return head + tail
    parts = [record.as_json() for record in records]
    parts[0] = head + parts[0]
    parts[-1] += tail
    return b",".join(parts)


class JsonCodec:
    """JSON 1.1: blobs as base64 text, time-stamps as seconds."""

    content_type = "application/x-amz-json-1.1"
    encoding = Encoding.BASE64
    empty = b"{}"

    def decode(self, body: bytes) -> object:
        try:
            return orjson.loads(body) if body else {}
        except orjson.JSONDecodeError as error:
            raise serialization(f"The body is not JSON: {error}") from None

    def answer(self, answer: Mapping[str, Any]) -> bytes:
        records = answer.get("Records")
        if records and isinstance(records[0], StoredRecord):
            rest = {name: value for name, value in answer.items() if name != "Records"}
            return _with_records(records, rest)
        return orjson.dumps(answer) if answer else b""

    def event(self, event: SubscribeToShardEvent) -> bytes:
        rest: dict[str, Any] = {"MillisBehindLatest": event.behind_ms}
        if event.continuation is not None:
            rest["ContinuationSequenceNumber"] = event.continuation
        if event.child_shards is not None:
            rest["ChildShards"] = event.child_shards
        return _with_records(event.records, rest)

    def error(self, error: ServiceError) -> bytes:
        return orjson.dumps({"__type": error.code, "message": error.message})


def _milliseconds(value: Any, _immutable: bool) -> float:
    """What tag 1 holds: milliseconds here, against RFC 8949."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise serialization("A time-stamp is not a number.")
    return value / 1000.0


def _tagged(value: Any) -> Any:
    """The answer with its time-stamps as tag 1, in whole milliseconds."""
    if isinstance(value, dict):
        return {
            name: cbor2.CBORTag(1, round(item * 1000))
            if name.endswith("Timestamp")
            else _tagged(item)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_tagged(item) for item in value]
    return value.as_dict() | _arrival(value) if isinstance(value, StoredRecord) else value


def _arrival(record: StoredRecord) -> dict[str, Any]:
    return {"ApproximateArrivalTimestamp": cbor2.CBORTag(1, record.arrival_ms)}


class CborCodec:
    """CBOR 1.1, what the Java SDKs send: blobs as bytes, time-stamps as milliseconds."""

    content_type = "application/x-amz-cbor-1.1"
    encoding = Encoding.NATIVE
    empty = b"\xa0"

    def decode(self, body: bytes) -> object:
        try:
            return cbor2.loads(body, semantic_decoders={1: _milliseconds}) if body else {}
        except (cbor2.CBORError, ValueError, RecursionError) as error:
            raise serialization(f"The body is not CBOR: {error}") from None

    def answer(self, answer: Mapping[str, Any]) -> bytes:
        return cbor2.dumps(_tagged(answer)) if answer else b""

    def event(self, event: SubscribeToShardEvent) -> bytes:
        return cbor2.dumps(_tagged(event.as_dict()))

    def error(self, error: ServiceError) -> bytes:
        return cbor2.dumps({"__type": error.code, "message": error.message})
