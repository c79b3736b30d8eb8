"""Whether an alarm's rule holds on the recorded minutes. Pure.

Source: "Evaluating an alarm" and "Configuring how CloudWatch alarms treat missing data", CloudWatch
User Guide. The service also looks at periods before the last ones when data is missing; here a
missing period counts as the template says, or as fine.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.dashboard.alarm import Alarm
from shardlane_lab.dashboard.drawn import DrawnSeries, drawn_series
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.statistic import Points, minutes_of

_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "≥": operator.ge,
    ">": operator.gt,
    "<": operator.lt,
    "≤": operator.le,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmState:
    word: str
    """``ALARM``, ``OK``, ``no data`` or ``not drawn``."""
    reason: str
    alarming: bool = False


def alarm_state(alarm: Alarm, metrics: RecordedMetrics) -> AlarmState:
    """At the end of the recorded time."""
    drawn = drawn_series(alarm.series, metrics)
    if len(drawn) != 1 or alarm.threshold is None or alarm.comparison not in _HOLDS:
        return AlarmState(word="not drawn", reason="Its rule is more than one metric's threshold.")
    watched = drawn[0]
    if watched.problem:
        return AlarmState(word="not drawn", reason=f"Not understood: {watched.problem}.")
    if not watched.points and alarm.missing != "breaching":
        return AlarmState(word="no data", reason=f"{watched.what} has no data.")
    breaching = _breaching(alarm, watched, metrics)
    alarming = breaching[-alarm.of_last :].count(True) >= alarm.breaching
    return AlarmState(
        word="ALARM" if alarming else "OK",
        reason=f"{breaching.count(True)} of {len(breaching)} periods were breaching.",
        alarming=alarming,
    )


def _breaching(alarm: Alarm, watched: DrawnSeries, metrics: RecordedMetrics) -> Sequence[bool]:
    times = metrics.window.starts(minutes_of(watched.series.source.period_s))
    return [_breaches(alarm, watched.points, time) for time in times]


def _breaches(alarm: Alarm, points: Points, time: int) -> bool:
    if time not in points or alarm.threshold is None:
        return alarm.missing == "breaching"
    return _HOLDS[alarm.comparison](points[time], alarm.threshold)
