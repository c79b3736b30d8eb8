"""What a person asks the planner, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from shardlane_lab.errors import LabError
from shardlane_lab.simulator.parameters import CALIBRATIONS

Architecture = Literal["x86_64", "arm64"]

MAX_RECORD_BYTES = 10 * 1024 * 1024
"""The largest ``MaxRecordSizeInKiB`` of a stream (UpdateMaxRecordSize, API Reference)."""


MAX_CONSUMERS = 50
"""The most that can be registered with any stream, in On-demand Advantage mode."""


class PlanError(LabError):
    """Names the argument, what was found and what is allowed."""


_RANGES: dict[str, tuple[float, float]] = {
    "rate_per_s": (0.001, 1_000_000),
    "record_bytes": (1, MAX_RECORD_BYTES),
    "keys": (1, 10_000_000),
    "consumers": (1, MAX_CONSUMERS),
    "handler_ms": (0, 900_000),
    "wanted_p99_ms": (1, 86_400_000),
    "budget_usd": (0, 1e9),
    "shards": (1, 20_000),
    "outage_minutes": (0, 525_600),
    "retention_hours": (24, 8760),
    "interval_ms": (0, 60_000),
    "memory_mb": (128, 10_240),
    "machine_usd": (0, 1e9),
    "seeds": (1, 1000),
}
"""Lowest and highest value of each argument; the service's own where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Raises ``PlanError`` when made with a value that is not allowed."""

    rate_per_s: float
    """Records per second of the whole stream."""
    record_bytes: int = 1024
    keys: int = 1000
    """Partition keys in use, all as busy as each other."""
    consumers: int = 1
    """Applications that each read everything."""
    handler_ms: float = 0.0
    """What handling one record takes."""
    wanted_p99_ms: float | None = None
    """From arrival in the service to the end of handling."""
    budget_usd: float | None = None
    """A month."""
    region: str = "us-east-1"
    shards: int | None = None
    """None: as many as the load needs."""
    outage_minutes: float = 10.0
    """Of all consumers; how long the catching up takes is part of the answer."""
    retention_hours: float = 24.0
    interval_ms: float = 200.0
    """Between two calls of a shared poller."""
    memory_mb: int = 128
    """Of the functions."""
    architecture: Architecture = "x86_64"
    machine_usd: float | None = None
    """What the machines of one boto3 consumer cost a month. None: boto3 consumers are shown but
    not chosen, because their cost is not known."""
    seeds: int = 7
    calibration: str = "H0"

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _RANGES and value is not None:
                _check(each.name, value)
        if self.architecture not in ("x86_64", "arm64"):
            raise PlanError(f"architecture is {self.architecture!r}; allowed are x86_64 and arm64")
        if self.calibration not in CALIBRATIONS:
            allowed = " and ".join(CALIBRATIONS)
            raise PlanError(f"calibration is {self.calibration!r}; allowed are {allowed}")

    @property
    def bytes_per_s(self) -> float:
        return self.rate_per_s * self.record_bytes


def _check(name: str, value: float) -> None:
    lowest, highest = _RANGES[name]
    # Written so that a value that is no number at all (NaN) is refused too.
    if not lowest <= value <= highest:
        raise PlanError(f"{name} is {value:g}; allowed is {lowest:g} to {highest:,.12g}")
