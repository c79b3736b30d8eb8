"""One figure of a run beside the published one, and where the run's figure comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from shardlane_lab.percentile import Distribution

Basis = Literal["measured", "calibrated", "predicted", "local"]
"""Where a figure comes from.

``measured``: on AWS. ``calibrated``: drawn from the published distribution, so agreement proves
nothing. ``predicted``: came out of a mechanism (polling, throttling, batching), so agreement
means something. ``local``: without the published delays; it says how fast this software is and
is not to be compared with AWS.
"""

Statistic = Literal["min", "p50", "p90", "p99", "max"]
STATISTICS: tuple[Statistic, ...] = ("p50", "p90", "p99", "max", "min")
"""In the order in which they matter, which is that of the tables."""

EXTREMES: frozenset[Statistic] = frozenset({"min", "max"})
"""They rest on one or two events."""


@dataclass(frozen=True, slots=True)
class Compared:
    """``value`` is None when the run has no such figure, ``published`` when nobody published
    one."""

    value: float | None
    basis: Basis
    published: float | None = None
    comparable: bool = True
    """False for a count of a run that did not last as long as the published one."""

    @property
    def ratio(self) -> float | None:
        """Run over published."""
        if self.value is None or not self.published or not self.comparable:
            return None
        return self.value / self.published


def statistics_of(values: Distribution | None) -> Mapping[Statistic, float | None]:
    if values is None:
        return dict.fromkeys(STATISTICS)
    return {
        "p50": values.p50,
        "p90": values.p90,
        "p99": values.p99,
        "max": values.maximum,
        "min": values.minimum,
    }
