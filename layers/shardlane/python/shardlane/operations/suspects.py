"""Where a mapping may stand still: from log lines, or from an iterator age that grows by a second
a second. Pure; what it finds is then looked up in the stream."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.operations.activity import PERIOD_S, Series
from shardlane.operations.log_lines import Failing, Logged

RECENT_MS = 5 * 60_000
"""A mapping that fails tries again within this, whatever pause it makes between its retries."""
LOG_DELAY_MS = 60_000
"""A line is found in the log within this."""
STANDING_PERIODS = 5
"""Fewer agree by chance. Five agree only if the mapping stands, or moves at less than a quarter of
the pace at which records arrive."""
TOLERANCE_MS = 2_000
"""The age is measured at the invocation, the metric is dated by the minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When the record arrived at which the mapping stands, in epoch milliseconds; since when it
    has stood there."""

    from_ms: int
    to_ms: int
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """``named``: records that the log names. ``window``: what the iterator age says, if the
    mapping seems to stand still."""

    named: tuple[Failing, ...] = ()
    window: Window | None = None


def suspects(logged: Logged, ages: Series, now_ms: float) -> Suspects:
    """A record that failed in one invocation only is no suspect yet, unless the age stands too:
    the next invocation may have settled it."""
    window = standing_still(ages, now_ms)
    recent = [each for each in logged.failing if _is_recent(each, now_ms)]
    named = tuple(each for each in recent if each.invocations > 1 or window is not None)
    return Suspects(named=named, window=window)


def _is_recent(failing: Failing, now_ms: float) -> bool:
    """Pauses grow by at most a factor of two or so: after three of the longest, no new line means
    that the record has got through."""
    quiet_ms = RECENT_MS
    if failing.invocations > 1:
        quiet_ms = min(RECENT_MS, LOG_DELAY_MS + 3 * failing.longest_gap_ms)
    return now_ms - failing.last_ms <= quiet_ms


def standing_still(ages: Series, now_ms: float) -> Window | None:
    """The arrival time that the last periods agree on, if they do.

    A period's largest age was measured somewhere within it, so each period bounds the arrival of
    the oldest record to a minute; a mapping that stands still keeps all bounds compatible, and the
    more periods, the narrower. One that moves, however late, does not.
    """
    if not ages or now_ms - ages[-1].at_ms > RECENT_MS + PERIOD_S * 1000:
        return None
    lowest, highest, since_ms, periods = 0.0, float("inf"), ages[-1].at_ms, 0
    for at_ms, age_ms in reversed(ages):
        low = max(lowest, at_ms - age_ms)
        high = min(highest, at_ms + PERIOD_S * 1000 - age_ms)
        if low > high + TOLERANCE_MS or at_ms + PERIOD_S * 1000 <= lowest:
            break  # it was elsewhere then, or the record was not there yet
        lowest, highest, since_ms, periods = low, high, at_ms, periods + 1
    if periods < STANDING_PERIODS:
        return None
    return Window(
        from_ms=round(min(lowest, highest)) - TOLERANCE_MS,
        to_ms=round(max(lowest, highest)) + TOLERANCE_MS,
        since_ms=since_ms,
    )
