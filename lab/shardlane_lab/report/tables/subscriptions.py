"""SubscribeToShard of the enhanced fan-out consumers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shardlane_lab.report.subscription import Subscription
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Cell, Row, Table, compared_cell
from shardlane_lab.report.tables.grouping import groups
from shardlane_lab.report.wording import NOTHING, count_text


def subscriptions_table(summaries: Sequence[Summary]) -> Table:
    published = dict.fromkeys(
        f"Published successes: {summary.published.subscribe_successes}."
        for summary in summaries
        if summary.published and summary.subscriptions
    )
    return Table(
        name="subscriptions",
        title="SubscribeToShard",
        columns=("consumer", "successes", "in minutes", "refused", "in minutes", "behind, max ms"),
        groups=groups(summaries, _rows),
        words=frozenset({0, 2, 4}),
        notes=(
            "Consumers subscribe before the first record is sent; minutes count from that record, "
            "so what came before it is in none.",
            *published,
        ),
    )


def _rows(summary: Summary) -> Iterable[Row]:
    return (_row(each) for each in summary.subscriptions)


def _row(each: Subscription) -> Row:
    return (
        Cell(each.label),
        Cell(count_text(each.total_successes)),
        Cell(_minutes(each.successes)),
        compared_cell(each.total_refusals, count_text),
        Cell(_minutes(each.refusals)),
        compared_cell(each.furthest_behind, count_text),
    )


def _minutes(counts: Mapping[int, float]) -> str:
    """``0, 5`` or, when several fell into one, ``0 (2×), 5``."""
    return (
        ", ".join(
            str(minute) if count == 1 else f"{minute} ({count_text(count)}×)"
            for minute, count in sorted(counts.items())
        )
        or NOTHING
    )
