"""The main table: every consumer's latency, and whether everything came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shardlane_lab.report.compared import STATISTICS
from shardlane_lab.report.consumer_summary import ConsumerSummary
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Row, Table, compared_cell, statistic_cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import count_text


def results_table(summaries: Sequence[Summary]) -> Table:
    return Table(
        name="results",
        title="Arrival to receive, in ms",
        columns=("consumer", *STATISTICS, "n", "missing", "twice", "surfaced"),
        groups=groups(summaries, _rows),
        notes=(
            "Percentiles are exact (nearest rank) over n records. twice: delivered again. "
            "surfaced: throttling errors that got past the SDK's retries. A maximum rests "
            "on one or two events; its ratio says little.",
        ),
        stacked=True,
    )


def _rows(summary: Summary) -> Iterable[Row]:
    return (_row(consumer) for consumer in summary.consumers)


def _row(consumer: ConsumerSummary) -> Row:
    return (
        Cell(consumer.label),
        *statistic_cells(consumer.latency),
        replace(compared_cell(consumer.received, count_text), basis=None, ratio=None),
        compared_cell(consumer.missing, count_text),
        compared_cell(consumer.duplicates, count_text),
        compared_cell(consumer.surfaced_throttles, count_text),
    )
