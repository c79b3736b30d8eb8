"""Entries of a Kinesis event, as a mapping delivers them."""

from __future__ import annotations

import base64
import json
from typing import Any

SHARD = "shardId-000000000000"
STREAM_ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/order-events"
CONSUMER_ARN = f"{STREAM_ARN}/consumer/efo:1780000000"
FIRST = 49664051873519278542133817302411582104963780128145801218
"""A sequence number as the service writes them."""


def sequence(position: int) -> str:
    return str(FIRST + position * 7)


def entry(
    position: int, key: str = "k", data: bytes = b"{}", *, arn: str = STREAM_ARN, **kinesis: Any
) -> dict[str, Any]:
    """The entry of a record; ``kinesis`` replaces fields of its inner object."""
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": key,
            "sequenceNumber": sequence(position),
            "data": base64.b64encode(data).decode(),
            "approximateArrivalTimestamp": 1780000000.071 + position / 5,
        }
        | kinesis,
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{SHARD}:{sequence(position)}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": "arn:aws:iam::123456789012:role/r",
        "awsRegion": "eu-west-1",
        "eventSourceARN": arn,
    }


def event_of(keys: str) -> dict[str, Any]:
    """An event with one record per letter: the letter is the key, the payload its place."""
    return {
        "Records": [
            entry(position, key, json.dumps({"n": position}).encode())
            for position, key in enumerate(keys)
        ]
    }


def reported(response: Any) -> int | None:
    """The position that a response of a ``event_of`` batch reports, None if all went well."""
    failures = response["batchItemFailures"]
    if not failures:
        return None
    assert len(failures) == 1
    return (int(failures[0]["itemIdentifier"]) - FIRST) // 7


class Context:
    """Lambda's context: only the time that is left, which a test sets."""

    def __init__(self, left_ms: float = 30_000) -> None:
        self.left_ms = left_ms

    def get_remaining_time_in_millis(self) -> float:
        return self.left_ms
