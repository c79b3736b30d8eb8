"""Thousands of dots in few bytes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from shardlane_lab.report.palette import Colour
from shardlane_lab.report.plot.scale import FLOOR_MS

Dot = tuple[float, float]
"""When, in the unit of the axis; and a latency in ms, on a logarithmic axis."""


def draw_dots(
    axes: Axes, dots: Sequence[Dot], colour: Colour, *, width: float, opacity: float
) -> None:
    """One path of strokes without length, which a round cap makes dots: a tenth of the bytes of
    a marker each."""
    if not dots:
        return
    vertices = [(at, max(FLOOR_MS, ms)) for at, ms in dots for _ in ("move", "line")]
    codes = [Path.MOVETO, Path.LINETO] * len(dots)
    dotted = PathPatch(
        Path(vertices, codes),
        fill=False,
        edgecolor=colour.stand_in,
        alpha=opacity,
        linewidth=width,
        capstyle="round",
    )
    axes.add_artist(dotted)  # unlike add_patch this does not measure every dot
