"""What is parked, and why a key is: as text and as JSON. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from shardlane.operations.parking_source import LotPlace, ParkedKey
from shardlane.operations.wording import bytes_text, duration, moment, shown_key, table
from shardlane.parking.parked import Gate, Parked

MOST_REASON = 80


def keys_text(keys: Sequence[ParkedKey], now_ms: float, *, in_clear: bool) -> str:
    if not keys:
        return "no key is quarantined"
    rows = [
        (
            shown_key(each.gate.key, in_clear=in_clear),
            duration(now_ms - each.gate.since_ms),
            str(each.depth),
            str(each.head.attempts) if each.head else "-",
            "redrive" if is_held(each.gate, now_ms) else "waits",
            _short(each.head.reason if each.head else each.gate.reason),
        )
        for each in keys
    ]
    return "\n".join(table(rows, ("KEY", "SINCE", "RECORDS", "ATTEMPTS", "STATE", "REASON")))


def keys_json(keys: Sequence[ParkedKey], *, in_clear: bool) -> list[dict[str, Any]]:
    return [
        {
            "key": shown_key(each.gate.key, in_clear=in_clear),
            "key_hash": each.gate.key_hash,
            "since_ms": each.gate.since_ms,
            "records": each.depth,
            "attempts": each.head and each.head.attempts,
            "reason": each.head.reason if each.head else each.gate.reason,
            "held_until_ms": each.gate.hold_until_ms,
        }
        for each in keys
    ]


def records_text(records: Sequence[Parked], now_ms: float) -> str:
    if not records:
        return "no record of this key is parked"
    rows = [
        (
            each.shard_id,
            _place(each),
            duration(now_ms - each.parked_ms),
            str(each.attempts),
            _size(each),
            _short(each.reason),
        )
        for each in records
    ]
    headings = ("SHARD", "SEQUENCE NUMBER", "PARKED FOR", "ATTEMPTS", "PAYLOAD", "REASON")
    return "\n".join(table(rows, headings))


def records_json(records: Sequence[Parked]) -> list[dict[str, Any]]:
    return [
        {
            "stream": each.stream,
            "shard_id": each.shard_id,
            "sequence_number": each.sequence_number,
            "sub_sequence_number": each.sub_sequence_number,
            "arrival_ms": each.arrival_ms,
            "parked_ms": each.parked_ms,
            "attempts": each.attempts,
            "reason": each.reason,
            "size_bytes": None if each.data is None else len(each.data),
            "object": each.stored and f"s3://{each.stored.bucket}/{each.stored.key}",
        }
        for each in records
    ]


def is_held(gate: Gate, now_ms: float) -> bool:
    """Whether a redrive holds the key at ``now_ms``."""
    return gate.holder is not None and (gate.hold_until_ms or 0) >= now_ms


def why_text(
    place: LotPlace,
    key: str,
    found: ParkedKey | None,
    now_ms: float,
    *,
    in_clear: bool,
    function: str | None = None,
) -> str:
    """``function``: the consumer function, for the command, if it is known."""
    shown = shown_key(key, in_clear=in_clear)
    if found is None:
        return (
            f"{shown} is not quarantined for {place.consumer}: its records are handled as they "
            "come. If they are late, `shardlane stuck` says what holds up their shard."
        )
    return "\n".join(_why(place, shown, found, now_ms, function))


def _why(
    place: LotPlace, shown: str, found: ParkedKey, now_ms: float, function: str | None
) -> Iterator[str]:
    gate, head = found.gate, found.head
    since = f"{moment(gate.since_ms)} ({duration(now_ms - gate.since_ms)})"
    yield f"{shown} is quarantined for {place.consumer} since {since}."
    yield f"It began with: {gate.reason}"
    if head is None:
        yield "No record of it is parked any more: the next redrive lifts the quarantine."
    else:
        yield (
            f"Its first record is {head.sequence_number} of {head.shard_id}, tried "
            f"{head.attempts} times, parked {duration(now_ms - head.parked_ms)} ago; the last "
            f"attempt said: {head.reason}"
        )
        yield (
            f"{found.depth - 1} more are parked behind it, in order. Records of it that arrive "
            "are parked behind those; records of other keys are not held up."
        )
    if is_held(gate, now_ms):
        yield f"A redrive holds it until {moment(gate.hold_until_ms or 0)} at the latest."
    yield f"To set it going: {redrive_command(place, gate, function)}"


def redrive_command(place: LotPlace, gate: Gate, function: str | None) -> str:
    bucket = f" --bucket {shlex.quote(place.bucket)}" if place.bucket else ""
    return (
        f"shardlane redrive --table {shlex.quote(place.table)} --consumer {place.consumer}{bucket} "
        f"--key-hash {gate.key_hash[:12]} --function {shlex.quote(function or 'FUNCTION')}"
    )


def _place(record: Parked) -> str:
    sub = f"/{record.sub_sequence_number}" if record.sub_sequence_number else ""
    return record.sequence_number + sub


def _size(record: Parked) -> str:
    return "in S3" if record.data is None else bytes_text(len(record.data))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_REASON else line[: MOST_REASON - 1] + "…"
