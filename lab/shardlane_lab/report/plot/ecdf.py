"""How many of a consumer's records came within which time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import PAPER, Stroke, strokes
from shardlane_lab.report.plot.scale import (
    FLOOR_MS,
    Span,
    place_of,
    set_latency_axis,
    set_percentile_axis,
)
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup
from shardlane_lab.report.summary import Summary

POINTS = 240
"""Of one curve: evenly spaced where it is drawn, so no bend is lost."""

_PUBLISHED = {"p50": 50.0, "p90": 90.0, "p99": 99.0}


def ecdf_plot(
    summary: Summary,
    latencies_ms: Mapping[str, Sequence[float]],
    *,
    span: Span,
    size: tuple[float, float],
    name: str,
) -> Markup:
    """``latencies_ms`` by label, ascending; published percentiles are rings on the same axes."""
    with plot_style():
        figure, axes = blank(*size)
        axes.grid(True)
        set_latency_axis(axes, "x", span)
        set_percentile_axis(axes)
        for label, stroke in strokes(summary.record.consumers).items():
            _curve(axes, latencies_ms.get(label, ()), stroke)
            _rings(axes, summary, label, stroke)
        return svg_markup(figure, name=name, label=_label(summary))


def curve_points(ordered_ms: Sequence[float]) -> list[tuple[float, float]]:
    """Latency and percent of points of the exact distribution, at most ``POINTS``.

    A rank r of n stands at (r − ½) / n, so that the first and the last have a place too.
    """
    count = len(ordered_ms)
    low, high = place_of(50 / count), place_of(100 - 50 / count)
    ranks = set()
    for step in range(POINTS):
        place = low + (high - low) * step / (POINTS - 1)
        share = 1 / (1 + 10**-place)
        ranks.add(min(count, max(1, round(share * count + 0.5))))
    return [(ordered_ms[rank - 1], 100 * (rank - 0.5) / count) for rank in sorted(ranks)]


def _curve(axes: Axes, ordered_ms: Sequence[float], stroke: Stroke) -> None:
    if not ordered_ms:
        return
    points = curve_points(ordered_ms)
    (line,) = axes.plot(
        [max(FLOOR_MS, latency_ms) for latency_ms, _ in points],
        [place_of(percent) for _, percent in points],
        color=stroke.colour.stand_in,
        linewidth=1.8,
    )
    if stroke.dash:
        line.set_dashes(stroke.dash)


def _rings(axes: Axes, summary: Summary, label: str, stroke: Stroke) -> None:
    if summary.published is None:
        return
    beside = summary.published.arrival_to_receive.get(label, {})
    marked = [(beside[each], percent) for each, percent in _PUBLISHED.items() if each in beside]
    axes.plot(
        [latency_ms for latency_ms, _ in marked],
        [place_of(percent) for _, percent in marked],
        linestyle="none",
        marker="o",
        markersize=7,
        markerfacecolor=PAPER.stand_in,
        markeredgecolor=stroke.colour.stand_in,
        markeredgewidth=1.6,
        zorder=3,
    )


def _label(summary: Summary) -> str:
    parts = [
        f"{consumer.label} p50 {consumer.latency['p50'].value:,.0f} ms, "
        f"p99 {consumer.latency['p99'].value:,.0f} ms"
        for consumer in summary.consumers
        if consumer.latency["p50"].value is not None
    ]
    return "Distribution of arrival to receive: " + ("; ".join(parts) or "no samples")
