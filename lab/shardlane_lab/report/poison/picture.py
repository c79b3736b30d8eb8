"""The poison figure as an SVG file of its own, for a README: light or dark as its reader is."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shardlane_lab.report.palette import INK, MUTED, custom_properties
from shardlane_lab.report.plot.poison_panel import OTHERS, POISON, draw_policy
from shardlane_lab.report.plot.svg import plot_style, svg_markup
from shardlane_lab.report.poison.figures import PoisonFigures, PolicyFigures
from shardlane_lab.report.poison.words import NAMES, keys_held_up, poison_finding
from shardlane_lab.report.wording import duration_text

WIDTH, HEIGHT = 880.0, 330.0
_LEFT, _TOP, _BOTTOM, _GAP = 50.0, 62.0, 56.0, 26.0

DOTS = 900
"""Of the other keys in a panel."""

_STYLE = (
    ":root {{ {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }} "
    "text {{ font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
    "sans-serif }}"
)


def poison_picture(figures: PoisonFigures) -> str:
    """A whole SVG document: no script, no network, no font of its own."""
    with plot_style():
        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
        figure.patch.set_visible(False)
        shown = figures.treated
        width = (WIDTH - _LEFT - _GAP * len(shown)) / len(shown)
        for place, each in enumerate(shown):
            left = _LEFT + place * (width + _GAP)
            inner = HEIGHT - _TOP - _BOTTOM
            axes = figure.add_axes((left / WIDTH, _BOTTOM / HEIGHT, width / WIDTH, inner / HEIGHT))
            _panel(axes, figures, each, first=place == 0)
        _keys(figure, figures)
        markup = svg_markup(figure, name="poison", label=poison_finding(figures))
    return _document(markup)


def _panel(axes: Axes, figures: PoisonFigures, each: PolicyFigures, *, first: bool) -> None:
    step = max(1, -(-len(each.dots) // DOTS))
    draw_policy(axes, figures, replace(each, dots=each.dots[::step]))
    axes.text(0, 1.17, NAMES[each.policy], transform=axes.transAxes, fontsize=14, weight="bold")
    axes.text(
        0,
        1.06,
        f"{keys_held_up(each)} keys held up · others p99 {duration_text(each.p99_ms)}",
        transform=axes.transAxes,
        color=MUTED.stand_in,
    )
    if not first:
        axes.tick_params(axis="y", labelleft=False)
        return
    for at_s, word in (
        (figures.setting.poison_from_s, "poison"),
        (figures.setting.fixed_s, "fixed"),
    ):
        axes.text(
            at_s + 1,
            0.03,
            word,
            transform=axes.get_xaxis_transform(),
            color=MUTED.stand_in,
            fontsize=10,
        )


def _keys(figure: Figure, figures: PoisonFigures) -> None:
    setting = figures.setting
    for x, colour, size, word in (
        (_LEFT + 4, OTHERS, 4.0, f"a record of one of {setting.keys - 1:,} other keys"),
        (_LEFT + 234, POISON, 6.0, "a record of the poison key"),
    ):
        dot = Line2D(
            [x / WIDTH],
            [17 / HEIGHT],
            marker="o",
            markersize=size,
            markerfacecolor=colour.stand_in,
            markeredgewidth=0,
        )
        figure.add_artist(dot)
        figure.text((x + 10) / WIDTH, 13 / HEIGHT, word, color=INK.stand_in)
    said = "across: seconds · up: from arrival to handled"
    figure.text((WIDTH - 24) / WIDTH, 13 / HEIGHT, said, color=MUTED.stand_in, ha="right")


def _document(markup: str) -> str:
    style = _STYLE.format(light=custom_properties("light"), dark=custom_properties("dark"))
    head, rest = markup.split(">", 1)
    paper = '<rect width="100%" height="100%" rx="8" style="fill: var(--paper)"/>'
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}">'
        f"<style>{style}</style>{paper}{rest}\n"
    )
