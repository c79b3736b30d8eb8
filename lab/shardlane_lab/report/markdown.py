"""The main tables as GitHub Markdown, for a README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.legend import MARKS, legend
from shardlane_lab.report.poison.figures import PoisonFigures
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Group, Table
from shardlane_lab.report.tables import poison_table, results_table
from shardlane_lab.report.wording import ratio_text


def markdown_report(summaries: Sequence[Summary], poison: PoisonFigures | None = None) -> str:
    """Every cell as ``68.1 c (68.3, ×1.00)``: the run's figure and its mark, then the published
    one and the ratio. A poison comparison comes first."""
    tables = [poison_table(poison)] if poison else []
    if summaries:
        tables.append(results_table(summaries))
    return "\n\n".join(block for table in tables for block in _table(table)) + "\n"


def _table(table: Table) -> Iterable[str]:
    for group in table.groups:
        yield from _group(table, group)
    yield from table.notes
    meanings = [f"{mark} = {basis}: {meaning}" for mark, basis, meaning in legend(table.bases)]
    if meanings:
        yield " ".join(meanings)


def _group(table: Table, group: Group) -> Iterable[str]:
    if group.title:
        yield f"**{_escaped(group.title)}** ({_escaped(group.caption)})"
    lines = [_line(table.columns), _line(["---", *["---:"] * (len(table.columns) - 1)])]
    lines += [_line([_cell(cell) for cell in row]) for row in group.rows]
    yield "\n".join(lines)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _cell(cell: Cell) -> str:
    text = f"{cell.text} {MARKS[cell.basis]}" if cell.basis else cell.text
    if cell.published is None:
        return _escaped(text)
    ratio = "" if cell.ratio is None else f", ×{ratio_text(cell.ratio)}"
    return _escaped(f"{text} ({cell.published}{ratio})")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
