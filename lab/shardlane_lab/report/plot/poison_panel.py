"""What one policy did: a dot a record, by its arrival; the poison key's stand out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from matplotlib.axes import Axes

from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import ALARM, MUTED, PAPER, SERIES
from shardlane_lab.report.plot.dots import draw_dots
from shardlane_lab.report.plot.scale import FLOOR_MS, Span, latency_span, set_latency_axis
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup
from shardlane_lab.report.poison.figures import PoisonFigures, PolicyFigures

OTHERS, POISON = SERIES[0], ALARM


def poison_plot(
    figures: PoisonFigures,
    shown: PolicyFigures,
    *,
    size: tuple[float, float],
    name: str,
    label: str,
) -> Markup:
    with plot_style():
        figure, axes = blank(*size)
        draw_policy(axes, figures, shown)
        axes.set_xlabel("seconds")
        return svg_markup(figure, name=name, label=label)


def draw_policy(axes: Axes, figures: PoisonFigures, shown: PolicyFigures) -> None:
    """On axes that all policies share, so that they compare."""
    setting = figures.setting
    axes.grid(True, axis="y")
    set_latency_axis(axes, "y", poison_span(figures))
    axes.set_xlim(0, setting.seconds)
    for at_s in (setting.poison_from_s, setting.fixed_s):
        axes.axvline(at_s, color=MUTED.stand_in, linewidth=0.9, dashes=(3, 3))
    draw_dots(axes, shown.dots, OTHERS, width=2.4, opacity=0.65)
    axes.plot(
        [at_s for at_s, _ in shown.poison_dots],
        [max(FLOOR_MS, delay_ms) for _, delay_ms in shown.poison_dots],
        linestyle="none",
        marker="o",
        markersize=5.5,
        markerfacecolor=POISON.stand_in,
        markeredgecolor=PAPER.stand_in,
        markeredgewidth=0.9,
        zorder=3,
    )


def poison_span(figures: PoisonFigures) -> Span:
    return latency_span(_delays(figures.policies))


def _delays(policies: Iterable[PolicyFigures]) -> Iterable[float]:
    return (ms for each in policies for _, ms in chain(each.dots, each.poison_dots))
