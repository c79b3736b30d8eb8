"""How close the model has to come to the published measurement, cell by cell."""

from __future__ import annotations

from shardlane_lab.report.compared import Statistic
from shardlane_lab.run_record import Kind

FAN_OUT_BOUNDS: dict[Statistic, float] = {"p50": 0.05, "p90": 0.05, "p99": 0.10}
STANDARD_BOUNDS: dict[Statistic, float] = {"p50": 0.10, "p90": 0.10}
POLLER_BOUNDS: dict[Statistic, float] = {"p50": 0.15, "p90": 0.20, "p99": 0.20, "max": 0.30}
"""Of Round 2, which nothing was fitted to, with H1."""

SURFACED_FACTOR = 2.0
"""Surfaced throttles of Round 2, all pollers together, with H1: within this factor."""

NOT_GATED = (
    "EFO maxima: one or two events in 3,000 records",
    "Lambda standard p99 and max: about 30 records, made by a few hiccups",
    "pollers under H0, and in Round 1: shown for comparison",
    "one poller's surfaced throttles: on the edge where the retry quota drains",
    "successes a minute: published up to 383, which no limit of 5 a second allows",
)
"""What is shown but proves nothing either way."""


def bound(round_name: str, calibration: str, kind: Kind, statistic: Statistic) -> float | None:
    """The largest relative deviation of the median over seeds; None if the cell is not gated."""
    if kind in ("lambda-efo", "boto3-efo"):
        return FAN_OUT_BOUNDS.get(statistic)
    if kind == "lambda-standard":
        return STANDARD_BOUNDS.get(statistic)
    if round_name == "2" and calibration == "H1":
        return POLLER_BOUNDS.get(statistic)
    return None
