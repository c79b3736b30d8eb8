"""When a standard mapping polls a shard."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PollTiming:
    """Durations in seconds. Source of the base rate: "Polling and batching streams", Lambda
    Developer Guide: once a second a shard, and on at once while there is more."""

    interval_s: float = 1.0
    jitter_s: float = 0.0
    """Standard deviation of the interval."""
    hiccup_probability: float = 0.0
    """Of a poll that comes late, by ``hiccup_mean_s`` on average (exponential)."""
    hiccup_mean_s: float = 0.0
    before_invoke_s: float = 0.0
    """Between the poll's answer and the invocation."""
    catch_up_s: float = 0.2
    """Between two polls while there is more: the shard's 5 calls a second."""

    @classmethod
    def exact(cls) -> PollTiming:
        """As documented, without noise."""
        return cls()

    @classmethod
    def measured(cls) -> PollTiming:
        """Fitted to a published measurement of one mapping on one shard (Tokyo, 5 records/s)."""
        return cls(
            interval_s=0.995,
            jitter_s=0.045,
            hiccup_probability=0.02,
            hiccup_mean_s=0.85,
            before_invoke_s=0.012,
        )

    def next_s(self, behind: bool, rng: random.Random) -> float:
        """From the start of one poll to the start of the next."""
        if behind:
            return self.catch_up_s
        pause_s = self.interval_s
        if self.jitter_s:
            pause_s += rng.gauss(0.0, self.jitter_s)
        if self.hiccup_probability and rng.random() < self.hiccup_probability:
            pause_s += rng.expovariate(1.0 / self.hiccup_mean_s)
        return max(self.catch_up_s, pause_s)
