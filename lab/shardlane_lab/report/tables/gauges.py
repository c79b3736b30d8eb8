"""Channel depth and lag of the consumers that say how they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.gauge_summary import GaugeSummary
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Row, Table, cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import count_text, ms_text


def gauges_table(summaries: Sequence[Summary]) -> Table:
    return Table(
        name="gauges",
        title="Channel depth, and lag in ms, of long-running consumers",
        columns=(
            "consumer",
            "depth mean",
            "depth max",
            "lag p50",
            "lag p99",
            "lag max",
            "unsettled",
            "aside",
            "looks",
        ),
        groups=groups(summaries, _rows),
        notes=(
            "depth: deliveries read and not started. lag: the age of the oldest record that is not "
            "settled, or how far the reader is behind if that is more. unsettled: records that the "
            "checkpoint could not pass; aside: keys that waited for their next attempt; both the "
            "most at once. Looked at about once a second.",
        ),
    )


def _rows(summary: Summary) -> Iterable[Row]:
    return (_row(each) for each in summary.gauges)


def _row(each: GaugeSummary) -> Row:
    return cells(
        each.label,
        f"{each.depth_mean:,.1f}",
        count_text(each.depth_max),
        ms_text(each.lag_p50_ms),
        ms_text(each.lag_p99_ms),
        ms_text(each.lag_max_ms),
        count_text(each.unsettled_max),
        count_text(each.keys_aside_max),
        count_text(each.looks),
    )
