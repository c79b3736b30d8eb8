"""Which differences cross two clocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.clock import ClockCheck
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Row, Table, cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import count_text, ms_text


def clocks_table(summaries: Sequence[Summary]) -> Table:
    return Table(
        name="clocks",
        title="Clock check",
        columns=("difference", "clocks", "consumers", "smallest, ms", "negative", "of"),
        groups=groups(summaries, _rows),
        words=frozenset({0, 1, 2}),
        notes=(
            "A difference across two clocks is off by what they disagree; a negative one shows "
            "that they do.",
        ),
    )


def _rows(summary: Summary) -> Iterable[Row]:
    return (_row(check, len(summary.consumers)) for check in summary.clocks)


def _row(check: ClockCheck, consumers: int) -> Row:
    earlier, later = check.clocks
    return cells(
        check.difference,
        f"two: {earlier}, {later}" if check.crosses else f"one: {earlier}",
        "all" if len(check.labels) == consumers else ", ".join(check.labels),
        ms_text(check.smallest_ms),
        count_text(check.negatives),
        count_text(check.count),
    )
