"""Facts about mappings, made by hand."""

from __future__ import annotations

from typing import Any

from shardlane.operations.activity import Activity, Series
from shardlane.operations.activity import Point as Point
from shardlane.operations.facts import Facts, FunctionFacts, Held, StreamFacts
from shardlane.operations.log_lines import Failing, Logged
from shardlane.operations.mapping import Mapping

MINUTE_MS = 60_000
NOW_MS = 1_780_000_000_000 // MINUTE_MS * MINUTE_MS
STREAM_ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/order-events"
CONSUMER_ARN = f"{STREAM_ARN}/consumer/billing-efo:1780000000"
QUEUE_ARN = "arn:aws:sqs:eu-west-1:123456789012:failed"
BUCKET_ARN = "arn:aws:s3:::failed"
SEQUENCE = "49000179602690475900000000000000000000000000000163000000"


def mapping(**fields: Any) -> Mapping:
    values: dict[str, Any] = {
        "uuid": "6abd3cbd-9777-5f2a-8061-896de3fe936f",
        "function": "billing",
        "source_arn": STREAM_ARN,
    }
    return Mapping(**(values | fields))


def failing(**fields: Any) -> Failing:
    values: dict[str, Any] = {
        "sequence_number": SEQUENCE,
        "first_ms": NOW_MS - 10 * MINUTE_MS,
        "last_ms": NOW_MS - MINUTE_MS,
        "invocations": 9,
        "longest_gap_ms": 2 * MINUTE_MS,
        "attempts": 27,
        "reason": "ValueError: a bad amount",
        "action": "stop",
    }
    return Failing(**(values | fields))


def held(**fields: Any) -> Held:
    values: dict[str, Any] = {
        "shard_id": "shardId-000000000001",
        "sequence_number": SEQUENCE,
        "key": "bob",
        "arrival_ms": NOW_MS - 11 * MINUTE_MS,
        "size_bytes": 16,
        "failing": failing(),
    }
    return Held(**(values | fields))


def facts(**fields: Any) -> Facts:
    values: dict[str, Any] = {
        "mapping": mapping(),
        "function": FunctionFacts(timeout_s=30),
        "stream": StreamFacts(name="order-events", shard_ids=("shardId-000000000001",)),
        "activity": Activity(),
        "logged": Logged(),
    }
    return Facts(**(values | fields))


def series(*values: float, last_ms: int = NOW_MS - MINUTE_MS) -> Series:
    """A value a minute, the last of the period that begins at ``last_ms``."""
    first_ms = last_ms - (len(values) - 1) * MINUTE_MS
    return tuple(Point(first_ms + index * MINUTE_MS, each) for index, each in enumerate(values))
