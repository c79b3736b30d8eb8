"""From the producer: into the service, and all the way to each consumer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardlane_lab.report.compared import STATISTICS
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Row, Table, compared_cell, statistic_cells
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import count_text, ms_text


def sends_table(summaries: Sequence[Summary]) -> Table:
    return Table(
        name="sends",
        title="From the producer, in ms",
        columns=("way", *STATISTICS, "n", "first record"),
        groups=groups(summaries, _rows),
        notes=(
            "The first record pays for connections and cold caches; it stands apart and is in no "
            "percentile here.",
        ),
        stacked=True,
    )


def _rows(summary: Summary) -> Iterable[Row]:
    send = summary.send
    if send.count:
        yield (
            Cell("send → arrival"),
            *statistic_cells(send.to_arrival),
            Cell(count_text(send.count)),
            compared_cell(send.first_to_arrival, ms_text),
        )
    for consumer in summary.consumers:
        if consumer.send_to_receive_count:
            yield (
                Cell(f"send → {consumer.label}"),
                *statistic_cells(consumer.send_to_receive),
                Cell(count_text(consumer.send_to_receive_count)),
                Cell(ms_text(consumer.first_send_to_receive_ms)),
            )
    if send.first_put_ms is not None:
        blank = [Cell("")] * (1 + len(STATISTICS))
        yield (Cell("first put, the call"), *blank, Cell(ms_text(send.first_put_ms)))
