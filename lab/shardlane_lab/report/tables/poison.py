"""The poison comparison: every policy with what it did to the other keys."""

from __future__ import annotations

from shardlane_lab.report.poison.figures import PoisonFigures, PolicyFigures
from shardlane_lab.report.poison.words import NAMES, NOTE
from shardlane_lab.report.table import Group, Row, Table, cells
from shardlane_lab.report.wording import count_text, ms_text

_NAMES = {**NAMES, "powertools": "Powertools"}
"""Short enough for a terminal's row."""


def poison_table(figures: PoisonFigures) -> Table:
    return Table(
        name="poison",
        title="One poison record among many keys: arrival to handled, in ms",
        columns=(
            "policy",
            "held up",
            "p50",
            "p99",
            "max",
            "poison max",
            "out of order",
            "repeated",
        ),
        groups=(Group("", "", tuple(_row(each) for each in figures.policies)),),
        notes=(
            NOTE,
            "Arrival to handled, in ms. p50, p99, max: of all keys but the poison one; poison max: "
            "of that. out of order: "
            "starts of a record before an earlier one of its key was handled. repeated: a "
            "handler's effect once more for the same record.",
        ),
    )


def _row(each: PolicyFigures) -> Row:
    return cells(
        _NAMES[each.policy],
        f"{count_text(each.held_up)} of {count_text(each.keys)}",
        ms_text(each.p50_ms),
        ms_text(each.p99_ms),
        ms_text(each.max_ms),
        ms_text(each.poison_max_ms),
        count_text(each.inversions),
        count_text(each.duplicates),
    )
