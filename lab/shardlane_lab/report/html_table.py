"""A table as HTML: headed in both directions, and scrollable by keyboard where it is too wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shardlane_lab.report.legend import MARKS
from shardlane_lab.report.markup import Markup, join, tag
from shardlane_lab.report.palette import Stroke
from shardlane_lab.report.table import Cell, Group, Row, Table
from shardlane_lab.report.wording import ratio_text

FAR = 0.25
"""Ratios further than this from 1 are set in bold where they mean something."""

_FEW_COLUMNS = 7

Strokes = Mapping[str, Stroke]
"""How consumers are drawn, by label: their rows carry the key to the plots."""


def table_markup(table: Table, strokes: Strokes) -> Markup:
    head = tag(
        "tr",
        *(
            tag("th", name, scope="col", class_="words" if column in table.words else False)
            for column, name in enumerate(table.columns)
        ),
    )
    bodies = [_body(table, group, strokes) for group in table.groups]
    narrow = not table.stacked and len(table.columns) <= _FEW_COLUMNS
    grid = tag(
        "table",
        tag("caption", table.title, class_="hidden"),
        tag("thead", head),
        *bodies,
        class_="narrow" if narrow else False,
    )
    return tag("div", grid, class_="scroll", tabindex=0, role="region", aria_label=table.title)


def _body(table: Table, group: Group, strokes: Strokes) -> Markup:
    rows = [_row(table, row, strokes) for row in group.rows]
    if group.title:
        rows.insert(0, _run_row(table, group))
    return tag("tbody", *rows)


def _run_row(table: Table, group: Group) -> Markup:
    caption = [tag("small", group.caption)] if table.name == "results" else []
    title = tag("span", group.title, *caption)
    return tag(
        "tr",
        tag("th", title, scope="rowgroup", colspan=len(table.columns), class_="words"),
        class_="run",
    )


def _row(table: Table, row: Row, strokes: Strokes) -> Markup:
    name, *values = row
    cells = [
        _cell(cell, stacked=table.stacked, words=column in table.words)
        for column, cell in enumerate(values, start=1)
    ]
    return tag("tr", _row_head(name.text, strokes), *cells)


def _row_head(text: str, strokes: Strokes) -> Markup:
    stroke = strokes.get(text.removeprefix("send → "))
    if stroke is None:
        return tag("th", text, scope="row")
    return tag("th", named_key(text, stroke), scope="row")


def named_key(text: str, stroke: Stroke) -> Markup:
    """A consumer's name behind a piece of its line."""
    return tag("span", key(stroke), text, class_="name")


def key(stroke: Stroke) -> Markup:
    dashes = " ".join(f"{length * 1.6:g}" for length in stroke.dash) or "none"
    line = tag(
        "line",
        x1=1,
        x2=27,
        y1=5,
        y2=5,
        style=f"stroke: {stroke.colour.css}; stroke-width: 2.5; stroke-dasharray: {dashes}",
    )
    return tag("svg", line, class_="key", viewBox="0 0 28 10", aria_hidden="true")


def _cell(cell: Cell, *, stacked: bool, words: bool) -> Markup:
    value = tag("span", cell.text, *_mark(cell), class_="value")
    beside = _beside(cell) if stacked else _inline(cell)
    return tag("td", value, *beside, class_="words" if words else False)


def _mark(cell: Cell) -> Sequence[Markup]:
    if cell.basis is None:
        return ()
    return (tag("abbr", MARKS[cell.basis], class_="mark", title=cell.basis),)


def _beside(cell: Cell) -> Sequence[Markup]:
    if cell.published is None:
        return ()
    hidden = tag("span", " published ", class_="hidden")
    return (tag("span", hidden, cell.published, *_ratio(cell), class_="beside"),)


def _inline(cell: Cell) -> Sequence[Markup]:
    if cell.published is None:
        return ()
    return (tag("span", join(" published ", cell.published, *_ratio(cell)), class_="beside"),)


def _ratio(cell: Cell) -> Sequence[str]:
    if cell.ratio is None:
        return ()
    text = f"×{ratio_text(cell.ratio)}"
    far = cell.telling and abs(cell.ratio - 1) > FAR
    return (" ", tag("span", text, class_="far") if far else text)
