"""A parked record, and the gate of a quarantined key."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardlane.errors import BadRecord
from shardlane.event_entry import RawRecord
from shardlane.parking.place import key_hash, place_of
from shardlane.record import Record

UNKNOWN = "unknown"
"""Stands for what a damaged record does not say about itself."""


@dataclass(frozen=True, slots=True)
class StoredPayload:
    """A payload in S3, for a record that is too large for a table item."""

    bucket: str
    key: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """One record in the lot. ``data`` or ``stored`` is set."""

    consumer: str
    key: str
    stream: str
    source_arn: str
    shard_id: str
    sequence_number: str
    sub_sequence_number: int
    arrival_ms: int
    data: bytes | None
    stored: StoredPayload | None = None
    whole_event: bool = False
    """Whether the payload is the event's entry as JSON, because its data could not be read."""
    reason: str
    attempts: int
    parked_ms: int
    rev: str
    """Random, new each time the record is parked: a redrive removes what it read, not what was
    parked in the same place later."""

    @property
    def key_hash(self) -> str:
        return key_hash(self.key)

    @property
    def place(self) -> str:
        """Unique within the key, and sorted as the records are to be handled."""
        return f"{place_of(self.sequence_number, self.sub_sequence_number)}#{self.shard_id}"

    def event(self, payload: bytes) -> RawRecord:
        """The entry of a Lambda event that brings this record back; ``payload`` is its data,
        wherever it was stored."""
        if self.whole_event:
            entry: RawRecord = json.loads(payload)
            return entry
        return self.record(payload).to_event()

    def record(self, payload: bytes) -> Record:
        return Record(
            stream=self.stream,
            shard_id=self.shard_id,
            sequence_number=self.sequence_number,
            sub_sequence_number=self.sub_sequence_number,
            partition_key=self.key,
            data=payload,
            arrival_ms=self.arrival_ms,
            source_arn=self.source_arn,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A quarantined key. The gate exists if and only if the key is quarantined."""

    consumer: str
    key: str
    version: int
    """Moves with every write that adds to the lot, so that a redrive that found the lot empty
    cannot lift the quarantine over a record parked since."""
    holder: str | None = None
    """The redrive run that holds the key."""
    hold_until_ms: int | None = None
    count: int = 1
    """How many records were parked since the quarantine began; for display only."""
    since_ms: int
    reason: str

    @property
    def key_hash(self) -> str:
        return key_hash(self.key)


def parked_of(
    record: Record, *, consumer: str, reason: str, attempts: int, now_ms: float, rev: str
) -> Parked:
    """``record`` as it goes into the lot; a damaged one too, with its event as it came."""
    try:
        data, whole_event = record.data, False
    except BadRecord:
        data, whole_event = json.dumps(record.to_event()).encode(), True
    return Parked(
        consumer=consumer,
        key=record.partition_key,
        stream=_readable(lambda: record.stream, UNKNOWN),
        source_arn=record.source_arn,
        shard_id=_readable(lambda: record.shard_id, UNKNOWN),
        sequence_number=record.sequence_number,
        sub_sequence_number=record.sub_sequence_number,
        arrival_ms=_readable(lambda: record.arrival_ms, 0),
        data=data,
        whole_event=whole_event,
        reason=reason,
        attempts=attempts,
        parked_ms=round(now_ms),
        rev=rev,
    )


def _readable(read: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return read()
    except BadRecord:
        return otherwise
