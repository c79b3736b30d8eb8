"""The shapes of events that AWS and Powertools document, and the odd ones that streams really
carry, through the whole of ``process_partial_response``: each is handled or fails alone."""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import KeyedBatchProcessor, Record
from tests.unit.shardlane.entries import CONSUMER_ARN, entry, reported
from tests.unit.shardlane.packed import MAGIC, packed

Entry = dict[str, Any]
Read = Callable[[Record], object]


def processed(odd: Entry, read: Read) -> tuple[int | None, list[object], list[str]]:
    """What is reported of a batch with ``odd`` in the middle, what its reads gave, and the reasons
    of its failures."""
    values: list[object] = []
    processor = KeyedBatchProcessor()
    event: Any = {"Records": [entry(0, "before"), odd, entry(2, "after")]}

    def handle(record: Record) -> None:
        if record.sequence_number == odd["kinesis"]["sequenceNumber"]:
            values.append(read(record))

    response = process_partial_response(event=event, record_handler=handle, processor=processor)
    reasons = [failure.reason for failure in processor.outcome.first_failures]
    return reported(response), values, reasons


def with_fields(**fields: Any) -> Entry:
    return entry(1, "odd") | fields


def without(name: str) -> Entry:
    return {field: value for field, value in entry(1, "odd").items() if field != name}


def encoded(data: object) -> Entry:
    """With this in the place of base64."""
    found = entry(1, "odd")
    found["kinesis"]["data"] = data
    return found


def kinesis_without(name: str) -> Entry:
    found = entry(1, "odd")
    del found["kinesis"][name]
    return found


LOGS = {"messageType": "DATA_MESSAGE", "logGroup": "orders", "logEvents": [{"message": "started"}]}
CHANGE = {"eventName": "INSERT", "dynamodb": {"NewImage": {"id": {"S": "a-1"}}}}

HANDLED: dict[str, tuple[Entry, Read, object]] = {
    "JSON": (entry(1, "odd", b'{"n": 1}'), lambda r: r.json(), {"n": 1}),
    "JSON through Powertools' view": (
        entry(1, "odd", b'{"n": 1}'),
        lambda r: r.kinesis.data_as_json(),
        {"n": 1},
    ),
    "text": (entry(1, "odd", "grüße".encode()), lambda r: r.text(), "grüße"),
    "bytes": (entry(1, "odd", b"\x00\xff"), lambda r: r.data, b"\x00\xff"),
    "no bytes": (entry(1, "odd", b""), lambda r: r.data, b""),
    "enhanced fan-out": (entry(1, "odd", arn=CONSUMER_ARN), lambda r: r.stream, "order-events"),
    "a time in whole seconds": (
        entry(1, "odd", approximateArrivalTimestamp=1_780_000_000),
        lambda r: r.arrival_ms,
        1_780_000_000_000,
    ),
    "a time as text": (
        entry(1, "odd", approximateArrivalTimestamp="1780000000.5"),
        lambda r: r.arrival_ms,
        1_780_000_000_500,
    ),
    "fields that nobody knows": (
        with_fields(later={"added": "by the service"}),
        lambda r: r.json(),
        {},
    ),
    "encryptionType": (entry(1, "odd", encryptionType="KMS"), lambda r: r.json(), {}),
    "without a role": (without("invokeIdentityArn"), lambda r: r.json(), {}),
    "without a partition key": (
        kinesis_without("partitionKey"),
        lambda r: r.partition_key,
        "",
    ),
    "gzip": (entry(1, "odd", gzip.compress(b"{}", mtime=0)), lambda r: r.gunzip(), b"{}"),
    "zlib": (entry(1, "odd", zlib.compress(b"{}")), lambda r: r.gunzip(), b"{}"),
    "CloudWatch Logs": (
        entry(1, "odd", gzip.compress(json.dumps(LOGS).encode(), mtime=0)),
        lambda r: json.loads(r.gunzip()),
        LOGS,
    ),
    "CloudWatch Logs through Powertools' view": (
        entry(1, "odd", gzip.compress(json.dumps(LOGS).encode(), mtime=0)),
        lambda r: r.kinesis.data_zlib_compressed_as_json(),
        LOGS,
    ),
    "a change of a DynamoDB table": (
        entry(1, "odd", json.dumps(CHANGE).encode()),
        lambda r: r.json(),
        CHANGE,
    ),
    "the magic of an aggregate alone": (
        entry(1, "odd", MAGIC + b"no aggregate at all"),
        lambda r: r.data,
        MAGIC + b"no aggregate at all",
    ),
    "an aggregate": (
        entry(1, "odd", packed([("inner", b'{"n": 1}')])),
        lambda r: (r.partition_key, r.json()),
        ("inner", {"n": 1}),
    ),
    "JSON's big numbers": (
        entry(1, "odd", b'{"n": 12345678901234567890123}'),
        lambda r: r.json(),
        {"n": 12345678901234567890123},
    ),
}


@pytest.mark.parametrize("name", HANDLED)
def test_a_shape_is_handled(name: str) -> None:
    odd, read, value = HANDLED[name]
    assert processed(odd, read) == (None, [value], [])


def test_nan_is_a_value() -> None:
    # No JSON, but what Python's and other encoders write; the handler decides.
    result, (value,), _ = processed(entry(1, "odd", b'{"n": NaN}'), lambda r: r.json()["n"])
    assert result is None
    assert isinstance(value, float)
    assert math.isnan(value)


BROKEN: dict[str, tuple[Entry, Read, str]] = {
    "no base64": (encoded("@@@@"), lambda r: None, "not base64"),
    "base64 without its end": (encoded("e30"), lambda r: None, "not base64"),
    "base64 with a line break": (encoded("e3\n0="), lambda r: None, "not base64"),
    "the alphabet for URLs": (
        encoded(base64.urlsafe_b64encode(b"\xfb\xff").decode()),
        lambda r: None,
        "not base64",
    ),
    "data that is no text": (encoded(7), lambda r: None, "int, not a base64 string"),
    "no data": (kinesis_without("data"), lambda r: None, "NoneType, not a base64 string"),
    "no JSON": (entry(1, "odd", b"{"), lambda r: r.json(), "data is not JSON"),
    "no UTF-8": (entry(1, "odd", b"\xff"), lambda r: r.json(), "data is not UTF-8 text"),
    "two documents": (entry(1, "odd", b"{}{}"), lambda r: r.json(), "data is not JSON"),
    "a gzip that is cut off": (
        entry(1, "odd", gzip.compress(b"x" * 100, mtime=0)[:-9]),
        lambda r: r.gunzip(),
        "cut off",
    ),
    "no gzip": (entry(1, "odd", b"{}"), lambda r: r.gunzip(), "neither gzip nor zlib"),
    "a time that is none": (
        entry(1, "odd", approximateArrivalTimestamp="soon"),
        lambda r: r.arrival_ms,
        "not epoch seconds",
    ),
    "no ARN": (without("eventSourceARN"), lambda r: r.stream, "not the ARN of a stream"),
    "no event id": (without("eventID"), lambda r: r.shard_id, "eventID is not SHARD:SEQUENCE"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_fails_alone_with_a_reason(name: str) -> None:
    odd, read, reason = BROKEN[name]
    result, values, reasons = processed(odd, read)
    assert result == 1
    assert values == []
    assert len(reasons) == 1
    assert reason in reasons[0]


@pytest.mark.parametrize("depth", [100_000])
def test_json_that_is_nested_too_deep_fails_alone(depth: int) -> None:
    bomb = b"[" * depth + b"]" * depth
    result, _, reasons = processed(entry(1, "odd", bomb), lambda r: r.json())
    assert result == 1
    assert len(reasons) == 1


def test_a_window_is_refused_with_the_reason() -> None:
    window = {"start": "2026-05-28T00:00:00Z", "end": "2026-05-28T00:02:00Z"}
    event: Any = {"Records": [entry(0)], "window": window, "state": {}, "isFinalInvokeForWindow": 0}
    with pytest.raises(ValueError, match="tumbling window"):
        process_partial_response(
            event=event, record_handler=lambda record: None, processor=KeyedBatchProcessor()
        )
