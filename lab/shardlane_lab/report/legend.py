"""What the marks beside figures mean."""

from __future__ import annotations

from collections.abc import Iterable

from shardlane_lab.report.compared import Basis

MARKS: dict[Basis, str] = {"measured": "m", "calibrated": "c", "predicted": "p", "local": "l"}

MEANINGS: dict[Basis, str] = {
    "measured": "on AWS.",
    "calibrated": "drawn from the published distribution; agreement with it proves nothing.",
    "predicted": "out of the mechanism (polling, throttling, batching); agreement means something.",
    "local": "without the published delays; what this software took, not to be compared with AWS.",
}


def legend(bases: Iterable[Basis]) -> tuple[tuple[str, Basis, str], ...]:
    """Mark, basis and meaning of the bases that occur, in a fixed order."""
    present = frozenset(bases)
    return tuple((MARKS[each], each, MEANINGS[each]) for each in MARKS if each in present)
