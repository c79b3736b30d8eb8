"""Which part of a function's records came in batches of which size."""

from __future__ import annotations

from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from shardlane_lab.report.batch import Batches
from shardlane_lab.report.markup import Markup
from shardlane_lab.report.palette import INK, PAPER, Stroke
from shardlane_lab.report.plot.svg import blank, plot_style, svg_markup


def batch_plot(
    batches: Batches, stroke: Stroke, *, largest: int, size: tuple[float, float], name: str
) -> Markup:
    """Bars are the run's, rings the published shares; ``largest`` ends the axis."""
    with plot_style():
        figure, axes = blank(*size)
        axes.grid(True, axis="y")
        axes.bar(
            [each.size for each in batches.sizes],
            [(each.share.value or 0.0) * 100 for each in batches.sizes],
            width=0.7,
            color=stroke.colour.stand_in,
        )
        published = [(e.size, e.share.published * 100) for e in batches.sizes if e.share.published]
        axes.plot(
            [each for each, _ in published],
            [percent for _, percent in published],
            linestyle="none",
            marker="o",
            markersize=7,
            markerfacecolor=PAPER.stand_in,
            markeredgecolor=INK.stand_in,
            markeredgewidth=1.6,
        )
        axes.set_xlim(0.3, max(largest, 6) + 0.7)
        axes.set_ylim(0, 105)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
        axes.yaxis.set_major_locator(FixedLocator([0, 25, 50, 75, 100]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda percent, _: f"{percent:g} %"))
        axes.set_xlabel("records in the batch")
        return svg_markup(figure, name=name, label=_label(batches))


def _label(batches: Batches) -> str:
    frequent = sorted(batches.sizes, key=lambda each: -each.records)[:3]
    parts = [
        f"{(each.share.value or 0) * 100:.0f} % in batches of {each.size}" for each in frequent
    ]
    return "Batch sizes: " + ", ".join(parts)
