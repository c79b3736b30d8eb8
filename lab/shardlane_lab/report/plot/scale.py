"""Axes that several plots share: latency on a logarithmic scale, and percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

FLOOR_MS = 0.1
"""A logarithm has no place for 0 and less; what is smaller is drawn here."""

PERCENTS = (1.0, 10.0, 50.0, 90.0, 99.0, 99.9)

Span = tuple[float, float]


def latency_span(latencies_ms: Iterable[float]) -> Span:
    """Whole steps of 1, 2, 5 that hold all values, so that plots of several runs compare."""
    values = [max(FLOOR_MS, value) for value in latencies_ms]
    if not values:
        return (1.0, 1000.0)
    low = _step_below(min(values))
    return low, max(_step_above(max(values)), 2 * low)


def set_latency_axis(axes: Axes, which: Literal["x", "y"], span: Span) -> None:
    low, high = span
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [10.0**decade for decade in decades if low <= 10.0**decade <= high]
    axis = axes.xaxis if which == "x" else axes.yaxis
    if which == "x":
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def tick_text(value_ms: float) -> str:
    """``10 ms``, ``1 s``."""
    return f"{value_ms / 1000:g} s" if value_ms >= 1000 else f"{value_ms:g} ms"


def place_of(percent: float) -> float:
    """Where a percentile is drawn: both tails get room (logit), as p99 has to be read beside
    p50."""
    return math.log10(percent / (100 - percent))


def set_percentile_axis(axes: Axes) -> None:
    axes.set_ylim(place_of(0.5), place_of(99.96))
    axes.yaxis.set_major_locator(FixedLocator([place_of(percent) for percent in PERCENTS]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda place, _: f"p{100 / (1 + 10**-place):.4g}"))


def _step_below(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max(step * decade for step in (1, 2, 5) if step * decade <= value)


def _step_above(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return min(step * decade for step in (1, 2, 5, 10) if step * decade >= value)
