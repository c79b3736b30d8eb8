"""What one run of one shard leaves. Milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardlane_lab.simulator.arrivals import Arrivals, Load, Times
from shardlane_lab.simulator.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun:
    load: Load
    arrivals: Arrivals
    readings: tuple[Reading, ...]

    def reading(self, label: str) -> Reading:
        """Raises ``KeyError`` naming the labels that there are."""
        for each in self.readings:
            if each.reader.label == label:
                return each
        labels = [each.reader.label for each in self.readings]
        raise KeyError(f"no reader {label!r}; there are {labels}")

    def latency_ms(self, reading: Reading) -> Times:
        """Arrival to receipt, by record."""
        return reading.received_ms - self.arrivals.arrival_ms[: len(reading.received_ms)]

    def handled_ms(self, reading: Reading) -> Times:
        """Arrival to the end of handling, by record."""
        return reading.done_ms - self.arrivals.arrival_ms[: len(reading.done_ms)]

    def missing(self, reading: Reading) -> int:
        return len(self.arrivals) - len(reading.received_ms)

    def per_minute(self, times_ms: Times) -> float:
        """How many of ``times_ms`` fall into a minute of sending, on average."""
        within = np.count_nonzero((times_ms >= 0) & (times_ms < self.load.until_ms))
        return float(within) * 60.0 / self.load.seconds
