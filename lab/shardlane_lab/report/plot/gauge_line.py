"""A value of a consumer over the time of the run: channel depth, or lag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from matplotlib.ticker import FuncFormatter, MaxNLocator

from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import Stroke
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup

MOST_POINTS = 400
"""Of one line. Beyond that, of so many stretches of time each the highest value."""

Point = tuple[float, float]
"""Seconds since the start of the run, and the value."""


def gauge_plot(
    points: Sequence[Point],
    stroke: Stroke,
    *,
    seconds: float,
    top: float,
    write: Callable[[float], str],
    size: tuple[float, float],
    name: str,
    label: str,
) -> Markup:
    """``top`` ends the axis, so that several consumers compare; ``write`` makes its labels."""
    in_minutes = seconds >= 120
    unit_s = 60.0 if in_minutes else 1.0
    shown = highest(points)
    with plot_style():
        figure, axes = blank(*size)
        axes.grid(True, axis="y")
        at = [at_s / unit_s for at_s, _ in shown]
        values = [value for _, value in shown]
        axes.fill_between(at, values, color=stroke.colour.stand_in, alpha=0.16, linewidth=0)
        axes.plot(at, values, color=stroke.colour.stand_in, linewidth=1.5)
        axes.set_xlim(0, max(seconds, *(at_s for at_s, _ in shown)) / unit_s)
        axes.set_ylim(0, top * 1.06 or 1.0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
        axes.set_xlabel("minutes" if in_minutes else "seconds")
        return svg_markup(figure, name=name, label=label)


def highest(points: Sequence[Point]) -> list[Point]:
    """All points, or of ``MOST_POINTS`` stretches the highest of each: no peak is lost."""
    count = len(points)
    if count <= MOST_POINTS:
        return list(points)
    edges = [count * step // MOST_POINTS for step in range(MOST_POINTS + 1)]
    return [max(points[start:end], key=lambda point: point[1]) for start, end in pairwise(edges)]
