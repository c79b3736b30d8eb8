"""A table as a value: text, Markdown and HTML lay out the same ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shardlane_lab.report.compared import EXTREMES, STATISTICS, Basis, Compared, Statistic
from shardlane_lab.report.wording import ms_text


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    basis: Basis | None = None
    published: str | None = None
    ratio: float | None = None
    telling: bool = True
    """False where the ratio rests on one or two events, and deserves no emphasis."""


Row = tuple[Cell, ...]
"""The first cell names the row."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one run."""

    title: str
    caption: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    """For anchors: lower case, no spaces."""
    title: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    words: frozenset[int] = frozenset({0})
    """Columns of words, set to the left; all others are figures, set to the right."""
    stacked: bool = False
    """Whether published values stand on lines of their own under the row."""

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def bases(self) -> frozenset[Basis]:
        return frozenset(cell.basis for row in self.rows for cell in row if cell.basis)


def cells(*texts: str) -> Row:
    return tuple(Cell(text) for text in texts)


def compared_cell(
    compared: Compared | None, write: Callable[[float | None], str], *, telling: bool = True
) -> Cell:
    """A cell that carries basis, published value and ratio; None gives a dash."""
    if compared is None:
        return Cell(write(None))
    return Cell(
        write(compared.value),
        basis=compared.basis if compared.value is not None else None,
        published=None if compared.published is None else write(compared.published),
        ratio=compared.ratio,
        telling=telling,
    )


def statistic_cells(compared: Mapping[Statistic, Compared]) -> Row:
    """One cell a statistic, in milliseconds."""
    return tuple(
        compared_cell(compared[name], ms_text, telling=name not in EXTREMES) for name in STATISTICS
    )
