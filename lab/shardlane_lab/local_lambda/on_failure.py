"""The message about records that a mapping gave up (source: "Retain discarded batch records for a
Kinesis Data Streams event source in Lambda", Lambda Developer Guide)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.local_lambda.after_invoke import GivenUp
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.mapping_config import MappingIdentity

_NO_REQUEST = "00000000-0000-0000-0000-000000000000"


def failure_message(
    given_up: GivenUp,
    identity: MappingIdentity,
    shard_id: str,
    now_ms: float,
    last: InvokeResult | None,
) -> dict[str, Any]:
    """``last`` is the last invocation of the batch; ``None`` if it never had one, and then the
    message has no ``responseContext``. The records themselves are not in it: they must be read
    from the stream before it forgets them."""
    batch = given_up.batch
    first, final = batch.records[0], batch.records[-1]
    message: dict[str, Any] = {
        "requestContext": {
            "requestId": last.request_id if last else _NO_REQUEST,
            "functionArn": identity.function_arn,
            "condition": given_up.condition,
            "approximateInvokeCount": batch.invokes,
        }
    }
    if last is not None:
        message["responseContext"] = _response_context(last)
    message |= {
        "version": "1.0",
        "timestamp": timestamp(now_ms),
        "KinesisBatchInfo": {
            "shardId": shard_id,
            "startSequenceNumber": first.sequence_number,
            "endSequenceNumber": final.sequence_number,
            "approximateArrivalOfFirstRecord": timestamp(first.arrival_ms),
            "approximateArrivalOfLastRecord": timestamp(final.arrival_ms),
            "batchSize": len(batch.records),
            "streamArn": identity.stream_arn,
        },
    }
    return message


def with_payload(message: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """What an S3 destination gets: the event too, as a string of JSON in the JSON."""
    return {**message, "payload": json.dumps(event, separators=(",", ":"))}


def object_key(message: Mapping[str, Any], mapping_uuid: str, unique: uuid.UUID) -> str:
    """Where an S3 destination stores ``message``."""
    at = datetime.fromisoformat(message["timestamp"])
    shard_id = message["KinesisBatchInfo"]["shardId"]
    return f"aws/lambda/{mapping_uuid}/{shard_id}/{at:%Y/%m/%d/%Y-%m-%dT%H.%M.%S}-{unique}"


def timestamp(at_ms: float) -> str:
    """ISO 8601 in UTC with milliseconds."""
    at = datetime.fromtimestamp(at_ms / 1000.0, tz=UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _response_context(last: InvokeResult) -> dict[str, Any]:
    context: dict[str, Any] = {"statusCode": 200, "executedVersion": "$LATEST"}
    if last.function_error is not None:
        context["functionError"] = last.function_error
    return context
