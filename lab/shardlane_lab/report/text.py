"""The report for a terminal: plain text, at most 100 columns, the same bytes for the same runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.legend import MARKS, legend
from shardlane_lab.report.note import notes
from shardlane_lab.report.poison.figures import PoisonFigures
from shardlane_lab.report.poison.words import (
    NAMES,
    keys_held_up,
    poison_conditions,
    poison_finding,
)
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Group, Row, Table
from shardlane_lab.report.tables import all_tables, poison_table
from shardlane_lab.report.title import run_title, short_names
from shardlane_lab.report.wording import ratio_text

WIDTH = 100
GAP = "  "
_BAR = 40


def text_report(summaries: Sequence[Summary], poison: PoisonFigures | None = None) -> str:
    """A poison comparison comes first."""
    parts = [*([poison_text(poison)] if poison else []), *([_runs(summaries)] if summaries else [])]
    return "\n".join(parts)


def poison_text(figures: PoisonFigures) -> str:
    blocks = [
        _wrap(f"{poison_finding(figures)} {poison_conditions(figures)}"),
        "\n".join(_held_up_bars(figures)),
        "\n".join(table_lines(poison_table(figures))),
    ]
    return "\n\n".join(blocks) + "\n"


def _held_up_bars(figures: PoisonFigures) -> Iterable[str]:
    """Keys held up, as bars; one key of many still has a mark."""
    names = {each.policy: NAMES[each.policy] for each in figures.treated}
    width = max(map(len, names.values()))
    for each in figures.treated:
        bar = "█" * round(_BAR * each.held_up / each.keys) or ("▏" if each.held_up else "")
        yield f"{names[each.policy]:<{width}}  {bar} {keys_held_up(each)} keys held up"


def _runs(summaries: Sequence[Summary]) -> str:
    results, *others = all_tables(summaries)
    blocks = [
        _wrap(f"{finding(summaries)} {delivery(summaries)}"),
        "\n".join(table_lines(results, captions=True)),
        *_legend([results, *others]),
        *_notes(summaries),
        *("\n".join(table_lines(table)) for table in others),
    ]
    return "\n\n".join(blocks) + "\n"


def table_lines(table: Table, *, captions: bool = False) -> list[str]:
    lines = [table.title, "=" * len(table.title)]
    for group in table.groups:
        if group.title:
            lines += ["", *_wrap(group.title).split("\n")]
        if captions:
            lines += _wrap(group.caption).split("\n")
        for columns in _fitting(table, group):
            lines += ["", *_grid(table, group, columns)]
    if table.notes:
        lines += ["", *(line for note in table.notes for line in _wrap(note).split("\n"))]
    return lines


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _fitting(table: Table, group: Group) -> Iterable[list[int]]:
    """The columns in parts that fit the width, each part with the first column again."""
    widths = _widths(table, group)
    part, used = [0], widths[0]
    for column in range(1, len(table.columns)):
        if len(part) > 1 and used + len(GAP) + widths[column] > WIDTH:
            yield part
            part, used = [0], widths[0]
        part.append(column)
        used += len(GAP) + widths[column]
    yield part


def _grid(table: Table, group: Group, columns: Sequence[int]) -> Iterable[str]:
    widths = _widths(table, group)
    lines = [table.columns, *(line for row in group.rows for line in _lines_of(row, table))]
    for number, texts in enumerate(lines):
        padded = [
            _padded(texts[column], widths[column], left=column in table.words) for column in columns
        ]
        yield GAP.join(padded).rstrip()
        if number == 0:
            yield GAP.join("-" * widths[column] for column in columns)


def _padded(text: str, width: int, *, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def _widths(table: Table, group: Group) -> list[int]:
    lines = [table.columns, *(line for row in group.rows for line in _lines_of(row, table))]
    return [max(len(line[column]) for line in lines) for column in range(len(table.columns))]


def _lines_of(row: Row, table: Table) -> Iterable[tuple[str, ...]]:
    if not table.stacked:
        yield tuple(_inline(cell) for cell in row)
        return
    name, *values = row
    yield (name.text, *(_stacked(cell) for cell in values))
    if any(cell.published is not None for cell in values):
        yield ("  published", *(f"{cell.published or ''} " for cell in values))
    if any(cell.ratio is not None for cell in values):
        yield ("  ratio", *("" if c.ratio is None else f"{ratio_text(c.ratio)} " for c in values))


def _stacked(cell: Cell) -> str:
    """A figure without a mark is padded, so that digits stand under digits."""
    return cell.text + (MARKS[cell.basis] if cell.basis else " ")


def _marked(cell: Cell) -> str:
    return cell.text + (MARKS[cell.basis] if cell.basis else "")


def _inline(cell: Cell) -> str:
    if cell.published is None:
        return _marked(cell)
    ratio = "" if cell.ratio is None else f", ×{ratio_text(cell.ratio)}"
    return f"{_marked(cell)} ({cell.published}{ratio})"


def _notes(summaries: Sequence[Summary]) -> Iterable[str]:
    names = short_names([summary.record for summary in summaries])
    for name, summary in zip(names, summaries, strict=True):
        found = notes(summary)
        if found:
            lines = [f"To know about {run_title(name, summary.record)}"]
            lines += [
                textwrap.fill(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
                for note in found
            ]
            yield "\n".join(lines)


def _legend(tables: Iterable[Table]) -> Iterable[str]:
    bases = {basis for table in tables for basis in table.bases}
    lines = [f"{mark}  {basis}: {meaning}" for mark, basis, meaning in legend(bases)]
    if lines:
        yield "\n".join(lines)
