"""Medians of several runs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.difference import MedianDifference, median_differences
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Group, Row, Table, cells
from shardlane_lab.report.title import short_names
from shardlane_lab.report.wording import NOTHING, difference_text, ms_text, ratio_text

_SIDE_BY_SIDE = 2
"""So many runs stand beside each other; more stand under each other, consumer by consumer."""


def differences_table(summaries: Sequence[Summary]) -> Table:
    """Without rows for a single run."""
    names = short_names([summary.record for summary in summaries])
    rows = median_differences(summaries)
    return _of_two(names, rows) if len(names) <= _SIDE_BY_SIDE else _of_many(names, rows)


def _of_many(names: Sequence[str], found: Sequence[MedianDifference]) -> Table:
    """A consumer that one run alone has is left out: there is nothing to compare it with."""
    shared = [each for each in found if each.runs > 1]
    return Table(
        name="differences",
        title="Median arrival to receive, run against run, in ms",
        columns=("run", "p50", f"− {names[0]}", "ratio", "clear"),
        groups=tuple(Group(each.name, "", tuple(_rows_of(names, each))) for each in shared),
        notes=(_CLEAR_NOTE,),
    )


def _rows_of(names: Sequence[str], row: MedianDifference) -> Iterable[Row]:
    """Runs without the consumer are left out."""
    from_first = (None, *row.from_first_ms)
    ratios = (None, *row.ratios_to_first)
    clear = (None, *row.clear)
    for place, name in enumerate(names):
        if row.medians[place] is not None:
            yield cells(
                name,
                ms_text(row.medians_ms[place]),
                difference_text(from_first[place]),
                ratio_text(ratios[place]),
                _CLEAR[clear[place]],
            )


def _of_two(names: Sequence[str], found: Sequence[MedianDifference]) -> Table:
    later = [
        column for name in names[1:] for column in (name, f"{name} − {names[0]}", "ratio", "clear")
    ]
    rows = tuple(_row(each) for each in found)
    return Table(
        name="differences",
        title="Median arrival to receive, run against run, in ms",
        columns=("consumer", *names[:1], *later),
        groups=(Group("", "", rows),) if rows else (),
        notes=(_CLEAR_NOTE,),
    )


def _row(row: MedianDifference) -> Row:
    later = zip(row.medians_ms[1:], row.from_first_ms, row.ratios_to_first, row.clear, strict=True)
    texts = [
        text
        for median, difference, ratio, clear in later
        for text in (
            ms_text(median),
            difference_text(difference),
            ratio_text(ratio),
            _CLEAR[clear],
        )
    ]
    return cells(row.name, ms_text(row.medians_ms[0]), *texts)


_CLEAR_NOTE = (
    "clear: the 95 % intervals of the two medians leave no overlap; otherwise so many records "
    "cannot tell them apart."
)
_CLEAR = {True: "yes", False: "no", None: NOTHING}
