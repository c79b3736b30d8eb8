"""What a function's answer says about its batch.

Source: "Configuring partial batch response with Kinesis Data Streams and Lambda", Lambda
Developer Guide. Where the answer is malformed the service takes the whole batch as failed; where
it says nothing, as handled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import MappingConfig


@dataclass(frozen=True, slots=True)
class Handled:
    """Every record."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The invocation, and so every record."""

    reason: str


@dataclass(frozen=True, slots=True)
class FailedFrom:
    """The record at ``index`` of the batch and all after it; those before it are handled."""

    index: int


Reading = Handled | Failed | FailedFrom


def read_response(
    result: InvokeResult, records: Sequence[Record], config: MappingConfig
) -> Reading:
    """Never raises: whatever a function answers has a meaning."""
    if result.failed:
        return Failed(str((result.error or {}).get("errorType", "function error")))
    payload = result.payload
    if config.tumbling_window_s and not isinstance(_member(payload, "state"), dict):
        return Failed("the response has no state")
    if not config.report_batch_item_failures:
        return Handled()
    return _read_failures(_member(payload, "batchItemFailures"), records, config)


def _member(payload: Any, name: str) -> Any:
    return payload.get(name) if isinstance(payload, dict) else None


def _read_failures(failures: Any, records: Sequence[Record], config: MappingConfig) -> Reading:
    if failures is None or failures == []:
        return Handled()
    if not isinstance(failures, list):
        return Failed("batchItemFailures is not a list")
    identifiers = [_member(item, "itemIdentifier") for item in failures]
    if not all(isinstance(each, str) and each for each in identifiers):
        return Failed("an itemIdentifier is empty, null or missing")
    places = {record.sequence_number: place for place, record in enumerate(records)}
    known = [places[each] for each in identifiers if each in places]
    if len(known) < len(identifiers) and config.undocumented.unknown_identifier == "fail-batch":
        return Failed("an itemIdentifier names no record of the batch")
    # A shard's records are in the order of their numbers, so the lowest place is the lowest one.
    return FailedFrom(min(known)) if known else Handled()
