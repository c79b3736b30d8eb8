"""The poison comparison as the first part of a page."""

from __future__ import annotations

from shardlane_lab.report.html_table import table_markup
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.page_section import Section
from shardlane_lab.report.palette import Colour
from shardlane_lab.report.plot.poison_panel import OTHERS, POISON, poison_plot
from shardlane_lab.report.poison.figures import PoisonFigures, PolicyFigures
from shardlane_lab.report.poison.words import (
    NAMES,
    panel_caption,
    poison_conditions,
    poison_finding,
)
from shardlane_lab.report.tables.poison import poison_table

PANEL = (360.0, 230.0)


def poison_section(figures: PoisonFigures) -> Section:
    table = poison_table(figures)
    content = tag(
        "section",
        tag("h1", poison_finding(figures)),
        tag("p", poison_conditions(figures), class_="lede"),
        tag("p", _key_of_dots(figures), class_="quiet"),
        tag("div", *(_panel(figures, each) for each in figures.treated), class_="panels trio"),
        table_markup(table, {}),
        *(tag("p", note, class_="quiet") for note in table.notes),
        id="poison",
        aria_label="One poison record",
    )
    return Section("poison", "Poison", content)


def _key_of_dots(figures: PoisonFigures) -> Markup:
    others, poison = _dot(OTHERS), _dot(POISON)
    return tag(
        "span",
        others,
        f" a record of one of {figures.setting.keys - 1:,} other keys, ",
        poison,
        " a record of the poison key. Across: when it arrived. Up: how long until it was handled. "
        "The two lines are the first failure and the fix.",
    )


def _dot(colour: Colour) -> Markup:
    return tag("span", "●", style=f"color: {colour.css}", aria_hidden="true")


def _panel(figures: PoisonFigures, each: PolicyFigures) -> Markup:
    caption = panel_caption(each)
    plot = poison_plot(
        figures,
        each,
        size=PANEL,
        name=f"poison-{each.policy}",
        label=f"{NAMES[each.policy]}: {caption}",
    )
    name = tag("strong", NAMES[each.policy])
    return tag("figure", tag("figcaption", name, tag("span", caption, class_="quiet")), plot)
