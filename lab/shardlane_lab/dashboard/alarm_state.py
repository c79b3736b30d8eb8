"""The state of a dashboard's alarm at the end of the recorded minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from shardlane_lab.alarms.history import AlarmRule, Missing, State, history
from shardlane_lab.dashboard.alarm import Alarm
from shardlane_lab.dashboard.drawn import drawn_series
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.statistic import minutes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmState:
    word: str
    """``ALARM``, ``OK``, ``no data`` or ``not drawn``."""
    reason: str
    alarming: bool = False


def alarm_state(alarm: Alarm, metrics: RecordedMetrics) -> AlarmState:
    drawn = drawn_series(alarm.series, metrics)
    rule = _rule(alarm)
    if len(drawn) != 1 or rule is None:
        return AlarmState(word="not drawn", reason="Its rule is more than one metric's threshold.")
    (watched,) = drawn
    if watched.problem:
        return AlarmState(word="not drawn", reason=f"Not understood: {watched.problem}.")
    if not watched.points and alarm.missing != "breaching":
        return AlarmState(word="no data", reason=f"{watched.what} has no data.")
    times = metrics.window.starts(minutes_of(watched.series.source.period_s))
    states = history(rule, [watched.points.get(time) for time in times])
    alarmed = states.count(State.ALARM)
    return AlarmState(
        word="no data" if states[-1] is State.INSUFFICIENT_DATA else states[-1].value,
        reason=f"In ALARM after {alarmed} of {len(states)} periods.",
        alarming=states[-1] is State.ALARM,
    )


def _rule(alarm: Alarm) -> AlarmRule | None:
    """None for a band, and for an alarm over other alarms."""
    if alarm.threshold is None or not alarm.series:
        return None
    return AlarmRule(
        comparison=alarm.operator,
        threshold=alarm.threshold,
        breaching=alarm.breaching,
        of_last=alarm.of_last,
        missing=cast(Missing, alarm.missing),
    )
