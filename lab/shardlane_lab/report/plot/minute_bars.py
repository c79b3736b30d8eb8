"""A count minute by minute, over the band of the published minutes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator

from shardlane_lab.published import Range
from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import INK, MUTED, Colour
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup

_FEWEST = 5
"""Minutes on the axis, so that the bar of a short run is no wall."""


def minute_plot(
    counts: Sequence[tuple[int, float, bool]],
    published: Range | None,
    *,
    colour: Colour,
    top: float,
    size: tuple[float, float],
    name: str,
    label: str,
) -> Markup:
    """``counts``: minute, count, and whether the minute is whole (others are drawn pale).
    ``top`` ends the axis, so that several runs compare."""
    with plot_style():
        figure, axes = blank(*size)
        axes.grid(True, axis="y")
        if published:
            low, high = published
            axes.axhspan(low, high, color=MUTED.stand_in, alpha=0.22, linewidth=0, zorder=0)
        for whole in (True, False):
            shown = [(minute, count) for minute, count, each in counts if each is whole]
            axes.bar(
                [minute for minute, _ in shown],
                [count for _, count in shown],
                width=0.72,
                color=colour.stand_in,
                alpha=1.0 if whole else 0.35,
            )
        if published:
            for edge in published:
                axes.axhline(edge, color=INK.stand_in, linewidth=1.0, dashes=(3, 2), zorder=3)
        axes.set_ylim(0, top * 1.05 or 1.0)
        last = max((minute for minute, _, _ in counts), default=0)
        axes.set_xlim(-0.6, max(last, _FEWEST - 1) + 0.6)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        axes.set_xlabel("minute")
        return svg_markup(figure, name=name, label=label)
