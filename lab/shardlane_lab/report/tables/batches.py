"""Batch sizes of the functions: which part of the records came in batches of which size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.experiment import MAPPING_KINDS
from shardlane_lab.report.batch import Batches, BatchSize
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Row, Table, cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import NOTHING, count_text, percent_text, ratio_text

MOST_ROWS = 12
"""Of one function; what is rarer is summed up in a last row."""


def batches_table(summaries: Sequence[Summary]) -> Table:
    return Table(
        name="batches",
        title="Records by the size of the batch they came in",
        columns=("function", "batch size", "records", "share, %", "published", "ratio"),
        groups=groups(summaries, _rows),
    )


def function_batches(summary: Summary) -> dict[str, Batches]:
    """By label, of the functions that received something."""
    return {
        consumer.label: consumer.batches
        for consumer in summary.consumers
        if consumer.kind in MAPPING_KINDS and consumer.batches
    }


def _rows(summary: Summary) -> Iterable[Row]:
    for label, batches in function_batches(summary).items():
        frequent = sorted(batches.sizes, key=lambda each: -each.records)[:MOST_ROWS]
        rare = [each for each in batches.sizes if each not in frequent]
        yield from (_size_row(label, each) for each in batches.sizes if each in frequent)
        if rare:
            yield _rare_row(label, rare)
        largest = batches.largest
        yield cells(
            label,
            f"largest: {count_text(largest.value)}",
            "",
            "",
            count_text(largest.published),
            ratio_text(largest.ratio),
        )


def _size_row(label: str, each: BatchSize) -> Row:
    return (
        Cell(label),
        Cell(count_text(each.size)),
        Cell(count_text(each.records)),
        Cell(percent_text(each.share.value), basis=each.share.basis),
        Cell(percent_text(each.share.published)),
        Cell(ratio_text(each.share.ratio)),
    )


def _rare_row(label: str, rare: Sequence[BatchSize]) -> Row:
    records = sum(each.records for each in rare)
    share = sum(each.share.value or 0.0 for each in rare)
    sizes = f"{len(rare)} other sizes"
    return (
        Cell(label),
        Cell(sizes),
        Cell(count_text(records)),
        Cell(percent_text(share), basis=rare[0].share.basis),
        Cell(NOTHING),
        Cell(NOTHING),
    )
