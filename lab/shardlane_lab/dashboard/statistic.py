"""The statistic of a metric in each of its periods, from the minutes that a run kept. Pure.

Source: "CloudWatch statistics definitions", CloudWatch User Guide.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from shardlane_lab.dashboard.series import Metric, NotDrawnError
from shardlane_lab.metric import MinuteStatistic

Points = Mapping[int, float]
"""Value by the minute in which its period starts; a period without data has none."""

SHORTEST_S = 60
"""A run keeps a metric by minutes: shorter periods are drawn as minutes."""

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,10})?|100)")


def points(metric: Metric, rows: Iterable[MinuteStatistic]) -> Points:
    """Ascending. Raises ``NotDrawnError`` for a statistic that is not known here."""
    minutes = minutes_of(metric.period_s)
    groups: defaultdict[int, list[MinuteStatistic]] = defaultdict(list)
    for row in rows:
        groups[row.minute // minutes * minutes].append(row)
    return {minute: value_of(groups[minute], metric.stat) for minute in sorted(groups)}


def minutes_of(period_s: int) -> int:
    return max(SHORTEST_S, period_s) // SHORTEST_S


def value_of(rows: Sequence[MinuteStatistic], stat: str) -> float:
    """Of one period, which has at least one row."""
    match stat:
        case "Sum":
            return sum(row.sum for row in rows)
        case "SampleCount":
            return float(sum(row.count for row in rows))
        case "Average":
            return sum(row.sum for row in rows) / sum(row.count for row in rows)
        case "Minimum":
            return min(row.minimum for row in rows)
        case "Maximum":
            return max(row.maximum for row in rows)
    percentile = _PERCENTILE.fullmatch(stat)
    if percentile is None:
        raise NotDrawnError(f"the statistic {stat}")
    return _percentile(rows, float(percentile[1]))


def _percentile(rows: Sequence[MinuteStatistic], percent: float) -> float:
    """By nearest rank. The values that a minute kept stand for all of it."""
    weighted: list[tuple[float, float]] = []
    for row in rows:
        values = row.values or _ends(row)
        weighted += [(value, row.count / len(values)) for value in values]
    weighted.sort()
    wanted = percent / 100 * sum(weight for _, weight in weighted)
    reached = 0.0
    for value, weight in weighted:
        reached += weight
        if reached > wanted or math.isclose(reached, wanted):
            return value
    return weighted[-1][0]


def _ends(row: MinuteStatistic) -> tuple[float, ...]:
    """Of a minute that kept no values: all are equal."""
    if row.minimum != row.maximum:
        raise NotDrawnError("a percentile of a metric of which only the sums were kept")
    return (row.minimum,)
