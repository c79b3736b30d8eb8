"""A widget's series with their points: what is drawn, and what there is no data for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardlane_lab.dashboard.expression import evaluate
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.series import Expression, Metric, NotDrawnError, Series
from shardlane_lab.dashboard.statistic import Points, minutes_of, points, value_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSeries:
    series: Series
    points: Points
    whole: float | None
    """The statistic over all of the time; None without data, or of an expression."""
    unit: str
    problem: str | None = None
    """What of it cannot be drawn here."""

    @property
    def last(self) -> float | None:
        return next(reversed([*self.points.values()]), None)

    @property
    def what(self) -> str:
        source = self.series.source
        return source.text

    @property
    def stat(self) -> str:
        source = self.series.source
        return source.stat if isinstance(source, Metric) else "expression"


def drawn_series(series: Sequence[Series], metrics: RecordedMetrics) -> tuple[DrawnSeries, ...]:
    """Those that are visible, in the widget's order; the others feed expressions."""
    found: dict[int, DrawnSeries] = {}
    by_id: dict[str, Points] = {}
    units: dict[str, str] = {}
    for place, each in enumerate(series):
        if isinstance(each.source, Metric):
            found[place] = _of_metric(each, each.source, metrics)
            by_id[each.id or f"_{place}"] = found[place].points
            units[each.id] = found[place].unit
    for place, each in enumerate(series):
        if isinstance(each.source, Expression):
            found[place] = _of_expression(each, each.source, by_id, metrics)
            if each.id:
                by_id[each.id] = found[place].points
    return tuple(found[place] for place, each in enumerate(series) if each.visible)


def _of_metric(series: Series, metric: Metric, metrics: RecordedMetrics) -> DrawnSeries:
    rows = metrics.of(metric)
    unit = "" if metric.stat == "SampleCount" else next((row.unit for row in rows if row.unit), "")
    try:
        return DrawnSeries(
            series=series,
            points=points(metric, rows),
            whole=value_of(rows, metric.stat) if rows else None,
            unit=unit,
        )
    except NotDrawnError as error:
        return DrawnSeries(series=series, points={}, whole=None, unit=unit, problem=str(error))


def _of_expression(
    series: Series,
    expression: Expression,
    by_id: dict[str, Points],
    metrics: RecordedMetrics,
) -> DrawnSeries:
    """Without a point where none of its metrics has data, whatever the expression fills in."""
    times = metrics.window.starts(minutes_of(expression.period_s))
    has_data = any(by_id.values())
    try:
        found = evaluate(expression.text, by_id, times) if has_data else {}
    except NotDrawnError as error:
        return DrawnSeries(series=series, points={}, whole=None, unit="", problem=str(error))
    return DrawnSeries(series=series, points=found, whole=None, unit="")
