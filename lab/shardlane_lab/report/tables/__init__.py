"""The report's tables, one a file: summaries in, ``table.Table`` out."""

from __future__ import annotations

from collections.abc import Sequence

from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Table
from shardlane_lab.report.tables.batches import batches_table
from shardlane_lab.report.tables.clocks import clocks_table
from shardlane_lab.report.tables.differences import differences_table
from shardlane_lab.report.tables.gauges import gauges_table
from shardlane_lab.report.tables.minutes import minutes_table, ranges_table
from shardlane_lab.report.tables.poison import poison_table
from shardlane_lab.report.tables.results import results_table
from shardlane_lab.report.tables.sends import sends_table
from shardlane_lab.report.tables.subscriptions import subscriptions_table

__all__ = [
    "all_tables",
    "batches_table",
    "clocks_table",
    "differences_table",
    "gauges_table",
    "minutes_table",
    "poison_table",
    "ranges_table",
    "results_table",
    "sends_table",
    "subscriptions_table",
]


def all_tables(summaries: Sequence[Summary]) -> tuple[Table, ...]:
    """In reading order; tables that would be empty are left out."""
    tables = (
        results_table(summaries),
        differences_table(summaries),
        sends_table(summaries),
        batches_table(summaries),
        ranges_table(summaries),
        minutes_table(summaries),
        gauges_table(summaries),
        subscriptions_table(summaries),
        clocks_table(summaries),
    )
    return tuple(table for table in tables if table.rows)
