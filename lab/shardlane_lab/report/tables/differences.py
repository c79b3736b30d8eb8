"""Medians of several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from shardlane_lab.report.difference import MedianDifference, median_differences
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Group, Row, Table, cells
from shardlane_lab.report.title import short_names
from shardlane_lab.report.wording import NOTHING, difference_text, ms_text, ratio_text


def differences_table(summaries: Sequence[Summary]) -> Table:
    """Without rows for a single run."""
    names = short_names([summary.record for summary in summaries])
    later = [
        column for name in names[1:] for column in (name, f"{name} − {names[0]}", "ratio", "clear")
    ]
    rows = tuple(_row(each) for each in median_differences(summaries))
    return Table(
        name="differences",
        title="Median arrival to receive, run against run, in ms",
        columns=("consumer", *names[:1], *later),
        groups=(Group("", "", rows),) if rows else (),
        notes=(
            "clear: the 95 % intervals of the two medians leave no overlap; otherwise so many "
            "records cannot tell them apart.",
        ),
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


_CLEAR = {True: "yes", False: "no", None: NOTHING}
