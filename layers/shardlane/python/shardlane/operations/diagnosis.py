"""Facts about a mapping in, a finding out: is it moving, how late is it, what holds it up.

Pure. What is inferred says so; what is not known is not guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shardlane.operations.activity import Series, total
from shardlane.operations.facts import Facts, Held
from shardlane.operations.prospects import Prospect, prospect

LATE_MS = 60_000
"""Above what a mapping needs for its own polling, window and one slow batch."""
LONGEST_TIMEOUT_S = 900
FRESH_MS = 10 * 60_000
"""CloudWatch shows a metric minutes after it was measured."""


class Status(Enum):
    """The first that applies, in this order."""

    DISABLED = "disabled"
    NO_STREAM = "stream not active"
    THROTTLED = "throttled"
    BLOCKED = "blocked"
    NOT_POLLING = "not polling"
    BEHIND = "behind"
    MOVING = "moving"
    IDLE = "idle"
    UNKNOWN = "unknown"

    @property
    def is_stuck(self) -> bool:
        return self in (Status.NO_STREAM, Status.THROTTLED, Status.BLOCKED, Status.NOT_POLLING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    late_ms: float
    measured_ms: int
    """When, in epoch milliseconds."""
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One record that holds up its shard, and what becomes of it."""

    held: Held
    since_ms: int
    certain: bool
    """Whether the log names the record; otherwise its age does, and it is the first record of a
    batch in which any may be the one that fails."""
    prospect: Prospect


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    facts: Facts
    status: Status
    lateness: Lateness | None
    blocks: tuple[Block, ...]
    prospect: Prospect | None
    """Of a mapping that stands still at a record that was not found."""
    notes: tuple[str, ...]
    """What else is to be known, worst first, each one sentence."""


def diagnose(facts: Facts, now_ms: float) -> Finding:
    status = _status(facts, now_ms)
    blocks = tuple(_block(facts, held) for held in facts.held) if status is Status.BLOCKED else ()
    unplaced = status is Status.BLOCKED and not blocks
    return Finding(
        facts=facts,
        status=status,
        lateness=lateness(facts, now_ms),
        blocks=blocks,
        prospect=prospect(facts.mapping, None, facts.stream.retention_hours) if unplaced else None,
        notes=tuple(_notes(facts)),
    )


def _status(facts: Facts, now_ms: float) -> Status:
    for status, applies in _STATUSES:
        if applies(facts, now_ms):
            return status
    return Status.UNKNOWN


def _is_disabled(facts: Facts, now_ms: float) -> bool:
    return facts.mapping.state in ("Disabled", "Disabling")


def _has_no_stream(facts: Facts, now_ms: float) -> bool:
    # UPDATING is a stream that is resharded or re-encrypted: it is read meanwhile.
    return facts.stream.status not in ("ACTIVE", "UPDATING")


def _is_throttled(facts: Facts, now_ms: float) -> bool:
    if facts.function.reserved_concurrency == 0:
        return True
    last = _last_periods(facts.activity.throttles, now_ms)
    return total(last) > 0 and total(_last_periods(facts.activity.invocations, now_ms)) == 0


def _is_blocked(facts: Facts, now_ms: float) -> bool:
    if any(each.failing for each in facts.held):
        return True
    standing_ms = now_ms - facts.standing_since_ms if facts.standing_since_ms is not None else 0
    # One batch may take the function's whole time-out without a failure.
    slowest_ms = 2 * 1000 * (facts.function.timeout_s or LONGEST_TIMEOUT_S)
    return standing_ms > slowest_ms or (standing_ms > 0 and _fails(facts, now_ms))


def _fails(facts: Facts, now_ms: float) -> bool:
    counted = facts.activity
    series = (counted.errors, counted.failed, counted.throttles)
    return facts.mapping.last_result.startswith("PROBLEM") or any(
        total(_last_periods(each, now_ms)) > 0 for each in series
    )


def _is_not_polling(facts: Facts, now_ms: float) -> bool:
    # A poll that finds nothing counts as a sample of 0; no sample at all is a dead mapping.
    known = facts.mapping.event_counts and bool(
        facts.activity.polls or facts.activity.incoming or facts.activity.invocations
    )
    return known and not _last_periods(facts.activity.polls, now_ms)


def _is_behind(facts: Facts, now_ms: float) -> bool:
    late = lateness(facts, now_ms)
    return late is not None and late.late_ms > LATE_MS


def _is_moving(facts: Facts, now_ms: float) -> bool:
    return total(_last_periods(facts.activity.invocations, now_ms)) > 0


def _is_idle(facts: Facts, now_ms: float) -> bool:
    incoming = total(_last_periods(facts.activity.incoming, now_ms))
    return incoming == 0 and not any("CloudWatch" in each for each in facts.unread)


_STATUSES = (
    (Status.DISABLED, _is_disabled),
    (Status.NO_STREAM, _has_no_stream),
    (Status.THROTTLED, _is_throttled),
    (Status.BLOCKED, _is_blocked),
    (Status.NOT_POLLING, _is_not_polling),
    (Status.BEHIND, _is_behind),
    (Status.MOVING, _is_moving),
    (Status.IDLE, _is_idle),
)


def lateness(facts: Facts, now_ms: float) -> Lateness | None:
    """The newest measurement that is fresh; with enhanced fan-out the larger of the two, since
    one is of reading and the other of invoking."""
    candidates = [
        Lateness(late_ms=series[-1].value, measured_ms=series[-1].at_ms, metric=metric)
        for metric, series in (
            ("IteratorAge", facts.activity.ages),
            ("SubscribeToShardEvent.MillisBehindLatest", facts.activity.behind),
        )
        if series and now_ms - series[-1].at_ms <= FRESH_MS
    ]
    return max(candidates, key=lambda each: each.late_ms, default=None)


def _last_periods(series: Series, now_ms: float) -> Series:
    return tuple(point for point in series if now_ms - point.at_ms <= FRESH_MS)


def has_passed(held: Held, ages: Series) -> bool:
    """Whether an invocation since the log last named the record had only younger ones: the
    largest age of a function is that of the shard that is furthest behind."""
    last_ms = held.failing.last_ms if held.failing else 0
    return any(
        point.at_ms >= last_ms and point.at_ms - point.value > held.arrival_ms for point in ages
    )


def _block(facts: Facts, held: Held) -> Block:
    failing = held.failing
    return Block(
        held=held,
        since_ms=failing.first_ms if failing else facts.standing_since_ms or held.arrival_ms,
        certain=failing is not None,
        prospect=prospect(facts.mapping, held.arrival_ms, facts.stream.retention_hours),
    )


def _notes(facts: Facts) -> list[str]:
    activity, minutes = facts.activity, facts.window_ms // 60_000
    notes = [
        f"the log names record {each.sequence_number} ({each.reason}), which is in no shard that "
        "could be read: expired, or of another stream"
        for each in facts.expired
    ]
    counted = (
        (activity.dropped, "records given up and dropped"),
        (activity.delivered, "records given up and sent to the on-failure destination"),
        (activity.undelivered, "failures to reach the on-failure destination: they are lost"),
        (activity.throttles, "invocations of the function throttled"),
        (activity.errors, "invocations of the function failed"),
        (activity.read_throttles, "reads of the stream throttled"),
    )
    notes += [
        f"{total(series):.0f} {what} in the last {minutes} min"
        for series, what in counted
        if total(series) > 0
    ]
    if facts.quarantined:
        command = f"shardlane parked --function {facts.mapping.function}"
        notes.append(f"quarantined keys: {facts.quarantined} ({command})")
    if facts.waiting:
        notes.append(f"messages waiting at {facts.mapping.on_failure}: {facts.waiting}")
    if facts.function.mappings > 1:
        notes.append(
            f"{facts.function.mappings} mappings of this stream call {facts.mapping.function}: its "
            "log and its metrics are of all of them"
        )
    if facts.logged.errors:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in facts.logged.errors[:3])
        notes.append(f"errors in the log: {kinds}")
    if facts.logged.not_started:
        _, reason = facts.logged.not_started[-1]
        notes.append(f"the processor started nothing: {reason}")
    return notes
