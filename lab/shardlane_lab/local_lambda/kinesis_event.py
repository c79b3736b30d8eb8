"""The event that a function gets (source: "Process Amazon Kinesis Data Streams records with
Lambda", Lambda Developer Guide)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import MappingIdentity


def kinesis_event(
    records: Sequence[Record], identity: MappingIdentity, shard_id: str
) -> dict[str, Any]:
    """``{"Records": [...]}``; arrival timestamps are seconds with milliseconds as fraction."""
    return {"Records": [_entry(record, identity, shard_id) for record in records]}


def _entry(record: Record, identity: MappingIdentity, shard_id: str) -> dict[str, Any]:
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": record.partition_key,
            "sequenceNumber": record.sequence_number,
            "data": base64.b64encode(record.data).decode("ascii"),
            "approximateArrivalTimestamp": round(record.arrival_ms) / 1000.0,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{shard_id}:{record.sequence_number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": identity.invoke_identity_arn,
        "awsRegion": identity.region,
        "eventSourceARN": identity.source_arn,
    }
