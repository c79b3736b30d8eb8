"""Bodies of requests and answers: one codec for each content type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson

from shardlane_lab.local_kinesis.errors import ServiceError, serialization
from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.shape import Encoding
from shardlane_lab.local_kinesis.subscription import SubscribeToShardEvent


class Codec(Protocol):
    content_type: str
    encoding: Encoding

    def decode(self, body: bytes) -> object:
        """Raises ``SerializationException`` if the body is not of this type."""
        ...

    def answer(self, answer: Mapping[str, Any]) -> bytes: ...

    def event(self, event: SubscribeToShardEvent) -> bytes: ...

    def error(self, error: ServiceError) -> bytes: ...


def _records(records: Sequence[StoredRecord]) -> bytes:
    return b'{"Records":[%b]' % b",".join([record.as_json() for record in records])


class JsonCodec:
    """JSON 1.1: blobs as base64 text, time-stamps as seconds."""

    content_type = "application/x-amz-json-1.1"
    encoding = Encoding.BASE64

    def decode(self, body: bytes) -> object:
        try:
            return orjson.loads(body) if body else {}
        except orjson.JSONDecodeError as error:
            raise serialization(f"The body is not JSON: {error}") from None

    def answer(self, answer: Mapping[str, Any]) -> bytes:
        records = answer.get("Records")
        if records and isinstance(records[0], StoredRecord):
            rest = {name: value for name, value in answer.items() if name != "Records"}
            return _records(records) + b"," + orjson.dumps(rest)[1:]
        return orjson.dumps(answer) if answer else b""

    def event(self, event: SubscribeToShardEvent) -> bytes:
        rest: dict[str, Any] = {"MillisBehindLatest": event.behind_ms}
        if event.continuation is not None:
            rest["ContinuationSequenceNumber"] = event.continuation
        if event.child_shards is not None:
            rest["ChildShards"] = event.child_shards
        return _records(event.records) + b"," + orjson.dumps(rest)[1:]

    def error(self, error: ServiceError) -> bytes:
        return orjson.dumps({"__type": error.code, "message": error.message})
