"""What a function's log lines say about records that failed.

``KeyedBatchProcessor`` writes one line an invocation, as JSON through Powertools' logger, as text
through the standard one; its processor-independent neighbours are the runtime's own lines about
errors and time-outs. Only the kind of an error is kept of those: a message may hold a payload.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

FILTER_PATTERN = '?"records failed" ?"was started" ?"[ERROR]" ?"Task timed out"'
"""For ``FilterLogEvents``: any of these. What comes back is read strictly, so that a service that
does not filter costs time and nothing else."""

_TEXT = re.compile(
    r"\d+ of \d+ records failed[^;]*; the first: (?P<first>\d{20,}) (?P<reason>[^;\n]*)"
)
_BLOCKED = re.compile(r"none of \d+ records was started: (?P<reason>.+)")
_ERROR = re.compile(r"^\[ERROR\]\s+(?:\S+Z\s+\S+\s+)?(?P<kind>[A-Za-z_][\w.]*)")
_TIMED_OUT = re.compile(r"\bTask timed out after ")
TIMED_OUT = "time-out"
MOST_REASON_CHARACTERS = 300


class Line(NamedTuple):
    at_ms: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """What the log says about one record that was left unsettled, invocation after invocation."""

    sequence_number: str
    first_ms: int
    last_ms: int
    invocations: int
    longest_gap_ms: int = 0
    """Between two of its lines: how long the mapping pauses before it tries again."""
    attempts: int | None
    """Of the handler, if the lines say them all."""
    reason: str
    action: str | None = None
    """``stop``, ``park`` or ``drop``, if the lines say it."""
    key: str | None = None
    """If the function logs keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What there is to know from a function's log in the window that was read."""

    failing: tuple[Failing, ...] = ()
    """By the time of their last line."""
    not_started: tuple[tuple[int, str], ...] = ()
    """When and why the processor started nothing at all."""
    errors: tuple[tuple[str, int], ...] = ()
    """Kinds of errors that invocations ended with, and how often."""
    read: bool = True
    """False if the log could not be read: then nothing is known, not nothing logged."""


def logged(lines: Iterable[Line]) -> Logged:
    """Pure: the same lines, the same answer, in whatever order they come."""
    failing: dict[str, Failing] = {}
    not_started: list[tuple[int, str]] = []
    errors: Counter[str] = Counter()
    for line in sorted(lines):
        if (seen := _failing(line)) is not None:
            failing[seen.sequence_number] = _added(failing.get(seen.sequence_number), seen)
        elif blocked := _BLOCKED.search(_message(line.text)):
            not_started.append((line.at_ms, _short(blocked["reason"])))
        elif _TIMED_OUT.search(line.text):
            errors[TIMED_OUT] += 1
        elif error := _ERROR.match(line.text):
            errors[error["kind"]] += 1
    return Logged(
        failing=tuple(sorted(failing.values(), key=lambda each: each.last_ms)),
        not_started=tuple(not_started),
        errors=tuple(errors.most_common()),
    )


def _failing(line: Line) -> Failing | None:
    fields = _json(line.text)
    ours = fields.get("shardlane") if fields else None
    if isinstance(ours, dict):
        return _from_fields(line.at_ms, ours)
    if text := _TEXT.search(_message(line.text)):
        return Failing(
            sequence_number=text["first"],
            first_ms=line.at_ms,
            last_ms=line.at_ms,
            invocations=1,
            attempts=None,
            reason=_short(text["reason"]),
        )
    return None


def _from_fields(at_ms: int, ours: dict[str, Any]) -> Failing | None:
    """A line whose failures were all settled (parked, dropped) says nothing of a blocked shard."""
    unsettled = ours.get("first_unsettled")
    failures = ours.get("failures") or []
    named = [each for each in failures if each.get("sequence_number") == unsettled]
    if unsettled is None or not named:
        return None
    first = named[0]
    return Failing(
        sequence_number=str(unsettled),
        first_ms=at_ms,
        last_ms=at_ms,
        invocations=1,
        attempts=first.get("attempts"),
        reason=_short(str(first.get("reason", ""))),
        action=first.get("action"),
        key=first.get("key"),
    )


def _added(before: Failing | None, now: Failing) -> Failing:
    if before is None:
        return now
    attempts = (
        before.attempts + now.attempts
        if before.attempts is not None and now.attempts is not None
        else None
    )
    return Failing(
        sequence_number=now.sequence_number,
        first_ms=before.first_ms,
        last_ms=now.last_ms,
        invocations=before.invocations + 1,
        longest_gap_ms=max(before.longest_gap_ms, now.last_ms - before.last_ms),
        attempts=attempts,
        reason=now.reason,
        action=now.action,
        key=now.key or before.key,
    )


def _json(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _message(text: str) -> str:
    fields = _json(text)
    return str(fields.get("message", "")) if fields else text


def _short(text: str) -> str:
    return text.strip()[:MOST_REASON_CHARACTERS]
