"""Time as a port: the only place in the package that reads a clock or sleeps."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings and one wait; a test or a virtual run brings its own."""

    def monotonic_s(self) -> float:
        """Seconds that never go back, from any origin."""

    def wall_ms(self) -> float:
        """Epoch milliseconds."""

    def sleep_s(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks."""

    monotonic_s = staticmethod(time.monotonic)
    sleep_s = staticmethod(time.sleep)

    @staticmethod
    def wall_ms() -> float:
        return time.time() * 1000.0
