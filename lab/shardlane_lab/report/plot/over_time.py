"""Every record of one consumer: when it arrived, and how long it then took."""

from __future__ import annotations

import random
from collections.abc import Sequence

from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import Stroke
from shardlane_lab.report.plot.dots import Dot, draw_dots
from shardlane_lab.report.plot.scale import Span, set_latency_axis
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup

MOST_DOTS = 4000
"""Of one plot. Beyond that the slowest hundredth is drawn whole and the rest thinned by chance."""

_LAYERS = 3
"""Dots of one path do not darken each other; a few layers show where they are dense."""

_MANY = 1000
_DOT_OF_MANY = 2.2
_DOT_OF_FEW = 3.6


def over_time_plot(
    dots: Sequence[Dot],
    stroke: Stroke,
    *,
    seconds: float,
    span: Span,
    size: tuple[float, float],
    name: str,
    label: str,
) -> Markup:
    """``dots``: seconds since the start of the run, latency in ms."""
    in_minutes = seconds >= 120
    with plot_style():
        figure, axes = blank(*size)
        axes.grid(True, axis="y")
        set_latency_axis(axes, "y", span)
        unit_s = 60.0 if in_minutes else 1.0
        axes.set_xlim(0, max(seconds, max((at_s for at_s, _ in dots), default=0)) / unit_s)
        axes.set_xlabel("minutes" if in_minutes else "seconds")
        shown = thinned(dots)
        width = _DOT_OF_MANY if len(shown) > _MANY else _DOT_OF_FEW
        for layer in range(_LAYERS):
            dots_of_layer = [(at_s / unit_s, ms) for at_s, ms in shown[layer::_LAYERS]]
            draw_dots(axes, dots_of_layer, stroke.colour, width=width, opacity=0.55)
        return svg_markup(figure, name=name, label=label)


def thinned(dots: Sequence[Dot]) -> list[Dot]:
    """All dots, or ``MOST_DOTS`` of them; always the same ones."""
    if len(dots) <= MOST_DOTS:
        return list(dots)
    by_latency = sorted(dots, key=lambda dot: dot[1])
    slowest = min(len(dots) // 100, MOST_DOTS // 2)
    rest = random.Random(0).sample(by_latency[:-slowest], MOST_DOTS - slowest)
    return sorted([*rest, *by_latency[-slowest:]])
