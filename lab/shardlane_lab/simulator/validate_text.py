"""``validate`` for a terminal, 100 columns, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from shardlane_lab.simulator.bounds import NOT_GATED
from shardlane_lab.simulator.calibration import Profile
from shardlane_lab.simulator.parameters import CALIBRATIONS
from shardlane_lab.simulator.validate import Cell, Validation

MISFIT = 4.0
"""A mean square over this, two standard deviations, is worth a word."""

_MEANING = {
    "H0": "backoff as botocore has it",
    "H1": "backoff 1.29 times as long, found with Round 2 in view",
}
_ROUND = {"1": "Round 1 (fitted to it)", "2": "Round 2 (predicted)"}


def render(validation: Validation, profiles: Sequence[Profile]) -> str:
    return "\n".join(_lines(validation, profiles)) + "\n"


def as_json(validation: Validation, profiles: Sequence[Profile]) -> str:
    document: dict[str, Any] = {
        "seeds": validation.seeds,
        "holds": not validation.failed,
        "gated": len(validation.gated),
        "failed": [f"{c.round}/{c.calibration}/{c.label}/{c.name}" for c in validation.failed],
        "cells": [
            asdict(cell) | {"ratio": cell.ratio, "holds": cell.holds} for cell in validation.cells
        ],
        "calibration": [
            {
                "value": profile.fitted.name,
                "used": profile.used,
                "best_on_round_1": profile.best,
                "scores": {f"{value:g}": score for value, score in profile.scores.items()},
            }
            for profile in profiles
        ],
        "not_gated": list(NOT_GATED),
    }
    return json.dumps(document, indent=2) + "\n"


def _lines(validation: Validation, profiles: Sequence[Profile]) -> Iterator[str]:
    yield from _calibration(profiles)
    for label in CALIBRATIONS:
        for name, title in _ROUND.items():
            cells = validation.of(name, label)
            if cells:
                yield from _table(f"{title}, {label}: {_MEANING[label]}", cells, validation.seeds)
    yield "Shown, not gated:"
    yield from (f"  {each}" for each in NOT_GATED)
    yield ""
    yield _verdict(validation)


def _calibration(profiles: Sequence[Profile]) -> Iterator[str]:
    if not profiles:
        return
    yield "Fitted values, judged by Round 1 alone (mean square of deviations / sd; 0 is best)"
    yield f"  {'value':<24}{'used':>7}{'best':>7}   tried: score"
    for profile in profiles:
        tried = "  ".join(f"{value:g}: {score:.1f}" for value, score in profile.scores.items())
        yield f"  {profile.fitted.name:<24}{profile.used:>7g}{profile.best:>7g}   {tried}"
    yield from _misfits(profiles)
    yield ""


def _misfits(profiles: Sequence[Profile]) -> Iterator[str]:
    """Values that Round 1 by itself would not have chosen."""
    for profile in profiles:
        used, best = profile.scores[profile.used], profile.scores[profile.best]
        if used > MISFIT and used > 2 * best:
            yield (
                f"  Round 1 by itself would take {profile.best:g} for {profile.fitted.name} "
                f"({best:.1f} against {used:.1f})."
            )


def _table(title: str, cells: Sequence[Cell], seeds: int) -> Iterator[str]:
    yield title
    yield (
        f"  {'milliseconds':<22}{'':<15}{'published':>13}{f'median of {seeds}':>15}{'5–95 %':>18}"
        f"{'ratio':>7}  bound"
    )
    for label, group in groupby(cells, key=lambda cell: cell.label):
        for position, cell in enumerate(group):
            yield _row(label if position == 0 else "", cell)
    yield ""


def _row(label: str, cell: Cell) -> str:
    lowest, highest = cell.published
    published = f"{lowest:,.0f}" if lowest == highest else f"{lowest:,.0f}–{highest:,.0f}"
    ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
    band = f"{cell.low:,.0f}–{cell.high:,.0f}"
    return (
        f"  {label:<22}{cell.name:<15}{published:>13}{cell.median:>15,.0f}{band:>18}"
        f"{ratio:>7}  {_bound(cell)}"
    ).rstrip()


def _bound(cell: Cell) -> str:
    if cell.allowed is None:
        return ""
    lowest, highest = cell.allowed
    return f"{lowest:,.0f}–{highest:,.0f} {'ok' if cell.holds else 'MISSED'}"


def _verdict(validation: Validation) -> str:
    gated, failed = len(validation.gated), validation.failed
    if not failed:
        return f"All {gated} bounds hold."
    missed = ", ".join(f"Round {c.round} {c.calibration} {c.label} {c.name}" for c in failed)
    return f"{len(failed)} of {gated} bounds are missed: {missed}."
