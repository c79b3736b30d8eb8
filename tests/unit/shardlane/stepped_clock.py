"""A clock that moves when it is told to, or when someone sleeps."""

from __future__ import annotations


class SteppedClock:
    def __init__(self, start_s: float = 1_000.0) -> None:
        self.now_s = start_s
        self.slept_s: list[float] = []

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ms(self) -> float:
        return self.now_s * 1000

    def sleep_s(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds
