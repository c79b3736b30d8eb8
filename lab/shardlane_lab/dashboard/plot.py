"""The graph of a widget, as SVG that follows the page's colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from shardlane_lab.dashboard.drawn import DrawnSeries
from shardlane_lab.dashboard.metrics import Window
from shardlane_lab.dashboard.quantity import tick_text
from shardlane_lab.dashboard.widget import Line, MetricWidget, Scale
from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import ALARM, Stroke, series_stroke
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup

_LABELS = 54.0
"""The room beside an axis with labels."""

_FEW_POINTS = 40
"""So many get a dot each: a line alone would hide where the periods are, or a single one."""


def graph(
    widget: MetricWidget,
    drawn: Sequence[DrawnSeries],
    lines: Sequence[Line],
    window: Window,
    *,
    size: tuple[float, float],
    name: str,
) -> Markup:
    """``lines`` are the widget's own and its alarms' thresholds."""
    with plot_style():
        right = _LABELS if _has_right(drawn) else 14.0
        figure, left = blank(*size, left=_LABELS, right=right, bottom=22.0)
        left.grid(True, axis="y")
        axes = {"left": left}
        if _has_right(drawn):
            axes["right"] = left.twinx()
            axes["right"].spines["right"].set_visible(True)
        if widget.stacked:
            _stack(left, [each for each in drawn if each.points], window)
        for place, each in enumerate(drawn):
            if not (widget.stacked and each.series.axis == "left"):
                _line(axes[each.series.axis], each, series_stroke(place))
        for line in lines:
            if line.axis in axes:
                axes[line.axis].axhline(
                    line.value, color=ALARM.stand_in, linewidth=1.1, dashes=(5, 3)
                )
        _set_scale(left, widget.left, _unit(drawn, "left"))
        if "right" in axes:
            _set_scale(axes["right"], widget.right, _unit(drawn, "right"))
        _set_time(left, window)
        return svg_markup(figure, name=name, label=_label(widget, drawn))


def _has_right(drawn: Sequence[DrawnSeries]) -> bool:
    return any(each.series.axis == "right" for each in drawn)


def _line(axes: Axes, each: DrawnSeries, stroke: Stroke) -> None:
    (line,) = axes.plot(
        list(each.points),
        list(each.points.values()),
        color=stroke.colour.stand_in,
        linewidth=1.7,
        marker="o" if len(each.points) <= _FEW_POINTS else None,
        markersize=3.6,
    )
    if stroke.dash:
        line.set_dashes(stroke.dash)


def _stack(axes: Axes, drawn: Sequence[DrawnSeries], window: Window) -> None:
    """A period without data counts as 0 here."""
    on_left = [each for each in drawn if each.series.axis == "left"]
    times = sorted({time for each in on_left for time in each.points})
    if not times:
        return
    width = 0.8 if len(times) < 2 else 0.8 * min(b - a for a, b in pairwise(times))
    bottom = [0.0] * len(times)
    for place, each in enumerate(drawn):
        if each not in on_left:
            continue
        heights = [each.points.get(time, 0.0) for time in times]
        colour = series_stroke(place).colour.stand_in
        axes.bar(times, heights, width, bottom=bottom, color=colour)
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]


def _set_scale(axes: Axes, scale: Scale, unit: str) -> None:
    low, high = axes.get_ylim()
    shown = axes.dataLim
    if not math.isfinite(shown.height) or not (shown.height or shown.ymax):
        high = 1.0  # nothing, or all 0: the usual margin around that is an axis of thousandths
    low = low if scale.minimum is None else scale.minimum
    high = high if scale.maximum is None else scale.maximum
    axes.set_ylim(low, high if high > low else low + 1)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=unit in ("Count", "")))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value, unit)))
    if scale.label:
        axes.set_ylabel(scale.label)


def _set_time(axes: Axes, window: Window) -> None:
    last = max(1, window.minutes - 1)
    axes.set_xlim(-0.03 * last, last * 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(_clock(window)))


def _clock(window: Window) -> Callable[[float, int | None], str]:
    """The time of the day, as a dashboard shows it; UTC."""

    def text(minute: float, _: int | None) -> str:
        at = datetime.fromtimestamp(window.start_ms / 1000 + minute * 60, UTC)
        return f"{at:%H:%M}"

    return text


def _unit(drawn: Sequence[DrawnSeries], axis: Literal["left", "right"]) -> str:
    """The one that all series of the axis share."""
    units = {each.unit for each in drawn if each.series.axis == axis and each.points}
    return units.pop() if len(units) == 1 else ""


def _label(widget: MetricWidget, drawn: Sequence[DrawnSeries]) -> str:
    parts = [
        f"{each.series.label} {tick_text(each.last, each.unit)}"
        for each in drawn
        if each.last is not None
    ]
    return f"{widget.title or 'Graph'}, last values: {', '.join(parts)}"
