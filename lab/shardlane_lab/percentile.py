"""Exact percentiles by nearest rank: each is a value that was measured, none is interpolated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` % of ``ordered`` (ascending) do not exceed.

    ``percent`` is over 0 and at most 100. Raises ``ValueError`` otherwise, and for no values.
    """
    if not ordered:
        raise ValueError("no values: a percentile of nothing does not exist")
    if not 0 < percent <= 100:
        raise ValueError(f"percent is {percent}; it must be over 0 and at most 100")
    # A fraction of the decimal text: 99.9 % of 1,000 is rank 999, whatever 99.9 is in binary.
    rank = math.ceil(Fraction(str(percent)) * len(ordered) / 100)
    return ordered[rank - 1]


def median_interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence, whatever the distribution: the values of
    ``ordered`` (ascending, not empty) at the ranks n/2 ± 0.98·√n. It takes the values as
    independent; with fewer than six it is the whole range, which holds the median less surely.
    """
    half_width = 1.96 * math.sqrt(len(ordered)) / 2
    low = math.floor(len(ordered) / 2 - half_width)
    high = math.ceil(len(ordered) / 2 + half_width) + 1
    return ordered[max(low, 1) - 1], ordered[min(high, len(ordered)) - 1]


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a set of values looks like, in their own unit, with how many there were."""

    count: int
    minimum: float
    p50: float
    p50_interval: tuple[float, float]
    """Where p50 lies with 95 % confidence."""
    p90: float
    p99: float
    maximum: float


def distribution(values: Iterable[float]) -> Distribution | None:
    """None for no values. With fewer than 100 values ``p99`` is the maximum: see ``count``."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Distribution(
        count=len(ordered),
        minimum=ordered[0],
        p50=percentile(ordered, 50),
        p50_interval=median_interval(ordered),
        p90=percentile(ordered, 90),
        p99=percentile(ordered, 99),
        maximum=ordered[-1],
    )
