"""Reads, throttles and iterator ages: ranges beside the published ones, and every minute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.minutes import MinuteRange
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Row, Table, cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import NOTHING, count_text, ms_text


def ranges_table(summaries: Sequence[Summary]) -> Table:
    ranges = [each for summary in summaries if summary.minutes for each in summary.minutes.ranges]
    scaled = any(each.scaled for each in ranges)
    return Table(
        name="ranges",
        title="Per minute: lowest, mean and highest of the whole minutes",
        columns=("figure", "lowest", "mean", "highest", "published", "ratio"),
        groups=groups(summaries, _range_rows),
        notes=(
            "ratio: our mean over the middle of the published range.",
            *(["A run shorter than a minute: its counts are scaled up to one."] if scaled else []),
        ),
    )


def minutes_table(summaries: Sequence[Summary]) -> Table:
    labels = tuple(
        dict.fromkeys(
            label
            for summary in summaries
            if summary.minutes
            for minute in summary.minutes.each
            for label in minute.iterator_age_ms
        )
    )
    return Table(
        name="minutes",
        title="Minute by minute",
        columns=(
            "minute",
            "throttled",
            "successful",
            *(f"IteratorAge {label}, ms" for label in labels),
        ),
        groups=groups(summaries, lambda summary: _minute_rows(summary, labels)),
        notes=("A minute in brackets is not whole: the run had ended in it, or before it.",),
    )


def _range_rows(summary: Summary) -> Iterable[Row]:
    if summary.minutes is None:
        return ()
    return (_range_row(each) for each in summary.minutes.ranges)


def _range_row(row: MinuteRange) -> Row:
    published = NOTHING
    if row.published:
        published = "–".join(_whole(value) for value in row.published)
    mean = Cell(
        ms_text(row.mean.value), basis=row.mean.basis if row.mean.value is not None else None
    )
    ratio = Cell(NOTHING if row.mean.ratio is None else f"{row.mean.ratio:.2f}")
    return (
        Cell(row.metric),
        Cell(_whole(row.lowest)),
        mean,
        Cell(_whole(row.highest)),
        Cell(published),
        ratio,
    )


def _whole(value: float | None) -> str:
    """Counts of a scaled minute and averages of ages are not whole; their decimals say nothing."""
    return count_text(None if value is None else round(value))


def _minute_rows(summary: Summary, labels: Sequence[str]) -> Iterable[Row]:
    if summary.minutes is None:
        return
    for minute in summary.minutes.each:
        ages = (ms_text(minute.iterator_age_ms.get(label)) for label in labels)
        number = str(minute.number) if minute.whole else f"({minute.number})"
        yield cells(number, count_text(minute.throttled), count_text(minute.successful), *ages)
