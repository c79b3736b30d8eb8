"""One group of rows a run, titled alike in every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from shardlane_lab.report.summary import Summary
from shardlane_lab.report.table import Group, Row
from shardlane_lab.report.title import run_caption, run_title, short_names


def groups(
    summaries: Sequence[Summary], rows: Callable[[Summary], Iterable[Row]]
) -> tuple[Group, ...]:
    """Runs without a row are left out."""
    names = short_names([summary.record for summary in summaries])
    made = (
        Group(run_title(name, summary.record), run_caption(summary.record), tuple(rows(summary)))
        for name, summary in zip(names, summaries, strict=True)
    )
    return tuple(group for group in made if group.rows)
