"""Latency measured in a function, and the log line that carries it to a report.

One line holds up to 500 records as arrays, not a line a record: at 1,000 records/s per shard the
latter would cost more than the function.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from shardlane.errors import BadRecord
from shardlane.record import Record

MESSAGE = "latency"
"""The ``message`` of the log line, and the name of the field with the arrays."""
MOST_RECORDS_PER_LINE = 500
"""About 70 kB: a CloudWatch Logs event may have 256 kB (PutLogEvents, quotas)."""
MOST_HANDLE_MS = 60_000.0
"""A load record may ask for so much of its handler's time and no more."""

_SHARED_FIELDS = ("label", "shard_id")
_FIELDS = ("seq", "sent_ms", "arrival_ms", "recv_ms", "batch", "sequence_number")
_OPTIONAL_FIELDS = ("scheduled_ms", "key")


class LoadPayload(NamedTuple):
    """What a load record says about itself; times are the producer's, in epoch milliseconds."""

    seq: int
    sent_ms: float
    scheduled_ms: float | None
    handle_ms: float = 0.0
    """What handling it is to take, as a slow handler would."""


class Latency(NamedTuple):
    """One record as a function received it; times are epoch milliseconds."""

    label: str
    seq: int
    sent_ms: float
    arrival_ms: int
    recv_ms: float
    batch: int
    sequence_number: str
    shard_id: str
    scheduled_ms: float | None = None
    key: str | None = None
    handle_ms: float | None = None
    """What its handling is to take, if the record says so; in no log line."""

    @property
    def arrival_to_receive_ms(self) -> float:
        """Crosses the service's and the function's clocks: may be negative."""
        return self.recv_ms - self.arrival_ms

    @property
    def send_to_arrival_ms(self) -> float:
        """Crosses the producer's and the service's clocks: may be negative."""
        return self.arrival_ms - self.sent_ms


def load_payload_of(record: Record) -> LoadPayload:
    """Raises ``BadRecord`` with what is wrong; the reason never repeats the payload."""
    payload = record.json()
    if not isinstance(payload, dict):
        raise BadRecord(f"the payload is a JSON {type(payload).__name__}, not an object")
    seq = _number(payload, "seq")
    if seq != int(seq) or seq < 0:
        raise BadRecord("field seq is not a whole number of 0 or more")
    return LoadPayload(
        seq=int(seq),
        sent_ms=_number(payload, "sent_ms"),
        scheduled_ms=_number(payload, "scheduled_ms") if "scheduled_ms" in payload else None,
        handle_ms=_handle_ms(payload),
    )


def _handle_ms(payload: Mapping[str, Any]) -> float:
    if "handle_ms" not in payload:
        return 0.0
    handle_ms = _number(payload, "handle_ms")
    if not 0 <= handle_ms <= MOST_HANDLE_MS:
        raise BadRecord(f"field handle_ms is not between 0 and {MOST_HANDLE_MS:g}")
    return handle_ms


def latency_of(
    record: Record, *, label: str, recv_ms: float, batch: int, with_key: bool = False
) -> Latency:
    """What ``record`` tells about its way here. Raises ``BadRecord``.

    ``recv_ms``: when its handler call started. ``batch``: how many records came together with it.
    """
    payload = load_payload_of(record)
    return Latency(
        label=label,
        seq=payload.seq,
        sent_ms=payload.sent_ms,
        arrival_ms=record.arrival_ms,
        recv_ms=round(recv_ms, 3),
        batch=batch,
        sequence_number=record.sequence_number,
        shard_id=record.shard_id,
        scheduled_ms=payload.scheduled_ms,
        key=record.partition_key if with_key else None,
        handle_ms=payload.handle_ms or None,
    )


def log_fields_of(latencies: Iterable[Latency]) -> Iterator[dict[str, Any]]:
    """The ``latency`` fields of as many log lines as it takes, one shard and label a line."""
    ordered = sorted(latencies, key=lambda each: (each.label, each.shard_id))
    for (label, shard_id), group in groupby(ordered, lambda each: (each.label, each.shard_id)):
        rows = list(group)
        for start in range(0, len(rows), MOST_RECORDS_PER_LINE):
            chunk = rows[start : start + MOST_RECORDS_PER_LINE]
            fields: dict[str, Any] = {"label": label, "shard_id": shard_id}
            yield fields | {name: [getattr(each, name) for each in chunk] for name in _names(chunk)}


def samples_in(log_line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One flat dict per record of a parsed log line, named as a sample's fields are.

    A line that is no latency line gives none; fields that nobody filled are left out. Raises
    ``ValueError`` for a latency line whose arrays do not fit together.
    """
    fields = log_line.get(MESSAGE)
    if log_line.get("message") != MESSAGE or not isinstance(fields, Mapping):
        return []
    missing = [name for name in (*_SHARED_FIELDS, *_FIELDS) if name not in fields]
    if missing:
        raise ValueError(f"a latency line without {', '.join(missing)}")
    names = [name for name in (*_FIELDS, *_OPTIONAL_FIELDS) if name in fields]
    lengths = {name: len(fields[name]) for name in names}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"a latency line whose arrays differ in length: {lengths}")
    shared = {name: fields[name] for name in _SHARED_FIELDS}
    return [
        shared | {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*(fields[name] for name in names), strict=True)
    ]


def samples_in_text(line: str) -> list[dict[str, Any]]:
    """``samples_in`` of a line as a function wrote it; one that is not JSON gives none."""
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return []
    return samples_in(parsed) if isinstance(parsed, dict) else []


def _names(rows: list[Latency]) -> list[str]:
    filled = [
        name for name in _OPTIONAL_FIELDS if any(getattr(each, name) is not None for each in rows)
    ]
    return [*_FIELDS, *filled]


def _number(payload: Mapping[str, Any], name: str) -> float:
    if name not in payload:
        raise BadRecord(f"field {name} is missing")
    value = payload[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRecord(f"field {name} is a JSON {type(value).__name__}, not a number")
    # An integer may be too big for a float; both that and NaN would spoil every percentile.
    if not -1e15 < value < 1e15 or not math.isfinite(value):
        raise BadRecord(f"field {name} is not a finite number below 1e15")
    return value
