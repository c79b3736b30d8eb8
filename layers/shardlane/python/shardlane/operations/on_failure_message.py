"""The messages that Lambda sends to an on-failure destination (source: "Retain discarded batch
records for a Kinesis Data Streams event source in Lambda", Lambda developer guide)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shardlane.event_entry import RawRecord
from shardlane.operations.errors import OperationError
from shardlane.operations.mapping import stream_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFailureMessage:
    """One batch that a mapping gave up. A queue and a topic get what is here but ``entries``."""

    function_arn: str
    condition: str
    """``RetryAttemptsExhausted`` or ``RecordAgeExceeded``."""
    invocations: int
    at: str
    """ISO 8601."""
    stream_arn: str
    shard_id: str
    first: str
    """The sequence number of the batch's first record."""
    last: str
    size: int
    """Records in the batch."""
    first_arrival: str
    entries: tuple[RawRecord, ...] | None = None
    """The batch itself, as the function got it; S3 destinations only."""

    @property
    def stream(self) -> str:
        return stream_of(self.stream_arn)


def messages_in(text: str) -> list[OnFailureMessage]:
    """From a message's body, from an S3 object, from an SNS notification around one, or from what
    ``aws sqs receive-message`` prints. Raises ``OperationError`` if it is none of these."""
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise OperationError(f"this is not JSON, so no on-failure message: {error}") from error
    found = list(_messages(parsed))
    if not found:
        raise OperationError("there is no message in it")
    return found


def _messages(parsed: Any) -> Iterator[OnFailureMessage]:
    if isinstance(parsed, dict) and isinstance(parsed.get("Messages"), list):
        for each in parsed["Messages"]:
            yield from messages_in(str(each.get("Body", "")))
    elif isinstance(parsed, dict) and parsed.get("Type") == "Notification":
        yield from messages_in(str(parsed.get("Message", "")))
    else:
        yield message_from(parsed)


def message_from(fields: Any) -> OnFailureMessage:
    """Raises ``OperationError`` naming what is missing."""
    try:
        batch, request = fields["KinesisBatchInfo"], fields["requestContext"]
        return OnFailureMessage(
            function_arn=request["functionArn"],
            condition=request["condition"],
            invocations=int(request.get("approximateInvokeCount", 0)),
            at=fields.get("timestamp", ""),
            stream_arn=batch["streamArn"],
            shard_id=batch["shardId"],
            first=_number(batch["startSequenceNumber"]),
            last=_number(batch["endSequenceNumber"]),
            size=int(batch["batchSize"]),
            first_arrival=batch.get("approximateArrivalOfFirstRecord", ""),
            entries=_entries(fields),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OperationError(
            "this is no on-failure message of a Kinesis mapping: "
            + (f"{error} is missing" if isinstance(error, KeyError) else str(error))
        ) from error


def _number(text: Any) -> str:
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is no sequence number")
    return text


def _entries(fields: Mapping[str, Any]) -> tuple[RawRecord, ...] | None:
    if "payload" not in fields:
        return None
    payload = fields["payload"]
    event = json.loads(payload) if isinstance(payload, str) else payload
    return tuple(event["Records"])
