"""Rate limits as pure arithmetic: may this call pass at ``now_ms``, and what it uses up.

``allows`` and ``charge`` are apart because a call may have to pass several limits, and a refused
call uses up none of them; and because Lambda's poller is charged without being asked.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Protocol

_TOLERANCE_S = 1e-6
"""An epoch in milliseconds, as a float, is exact to a quarter of a microsecond: a call at the very
moment its turn comes must pass."""


class Limiter(Protocol):
    def allows(self, now_ms: float, amount: float) -> bool: ...

    def charge(self, now_ms: float, amount: float) -> None: ...

    def ready_ms(self, now_ms: float, amount: float) -> float:
        """The earliest time from ``now_ms`` on at which ``amount`` is allowed."""
        ...


class LimiterShape(Enum):
    """How "5 calls per second" is counted; AWS does not say."""

    TOKEN_BUCKET = "token-bucket"
    SLIDING_WINDOW = "sliding-window"
    FIXED_WINDOW = "fixed-window"


class TokenBucket:
    """``burst`` at once, refilled at ``rate_per_s``; a charge may take the level below zero.

    An amount over ``burst`` passes when the bucket is full, and its debt holds up what follows:
    otherwise a record larger than a second's worth could never be written.
    """

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self._rate_per_ms = rate_per_s / 1000.0
        self._burst = burst
        self._tolerance = rate_per_s * _TOLERANCE_S
        self._level = burst
        self._at_ms = float("-inf")

    def _refill(self, now_ms: float) -> None:
        if now_ms > self._at_ms:
            grown = self._level + (now_ms - self._at_ms) * self._rate_per_ms
            self._level = min(self._burst, grown)
            self._at_ms = now_ms

    def allows(self, now_ms: float, amount: float) -> bool:
        self._refill(now_ms)
        return self._level + self._tolerance >= min(amount, self._burst)

    def charge(self, now_ms: float, amount: float) -> None:
        self._refill(now_ms)
        self._level -= amount

    def ready_ms(self, now_ms: float, amount: float) -> float:
        self._refill(now_ms)
        missing = min(amount, self._burst) - self._level
        return now_ms + max(0.0, missing) / self._rate_per_ms


class SlidingWindow:
    """At most ``count`` in any ``window_ms``."""

    def __init__(self, count: float, window_ms: float = 1000.0) -> None:
        self._count = count
        self._window_ms = window_ms
        self._granted: deque[tuple[float, float]] = deque()
        self._used = 0.0

    def _forget(self, now_ms: float) -> None:
        while self._granted and self._granted[0][0] <= now_ms - self._window_ms:
            self._used -= self._granted.popleft()[1]

    def allows(self, now_ms: float, amount: float) -> bool:
        self._forget(now_ms)
        return self._used + min(amount, self._count) <= self._count

    def charge(self, now_ms: float, amount: float) -> None:
        self._forget(now_ms)
        self._granted.append((now_ms, amount))
        self._used += amount

    def ready_ms(self, now_ms: float, amount: float) -> float:
        self._forget(now_ms)
        used = self._used
        at_ms = now_ms
        for granted_ms, granted in self._granted:
            if used + min(amount, self._count) <= self._count:
                break
            used -= granted
            at_ms = granted_ms + self._window_ms
        return at_ms


class FixedWindow:
    """At most ``count`` in each window that starts at a multiple of ``window_ms``."""

    def __init__(self, count: float, window_ms: float = 1000.0) -> None:
        self._count = count
        self._window_ms = window_ms
        self._window = float("-inf")
        self._used = 0.0

    def _turn(self, now_ms: float) -> None:
        window = now_ms // self._window_ms
        if window > self._window:
            self._window, self._used = window, 0.0

    def allows(self, now_ms: float, amount: float) -> bool:
        self._turn(now_ms)
        return self._used + min(amount, self._count) <= self._count

    def charge(self, now_ms: float, amount: float) -> None:
        self._turn(now_ms)
        self._used += amount

    def ready_ms(self, now_ms: float, amount: float) -> float:
        if self.allows(now_ms, amount):
            return now_ms
        return (self._window + 1.0) * self._window_ms


class Unlimited:
    """A limit that is switched off."""

    def allows(self, now_ms: float, amount: float) -> bool:
        return True

    def charge(self, now_ms: float, amount: float) -> None:
        return None

    def ready_ms(self, now_ms: float, amount: float) -> float:
        return now_ms


def limiter(
    rate_per_s: float | None,
    burst: float | None = None,
    shape: LimiterShape = LimiterShape.TOKEN_BUCKET,
) -> Limiter:
    """A limiter of that shape; ``rate_per_s`` None is no limit, ``burst`` None is one second's
    worth."""
    if rate_per_s is None:
        return Unlimited()
    if shape is LimiterShape.SLIDING_WINDOW:
        return SlidingWindow(rate_per_s)
    if shape is LimiterShape.FIXED_WINDOW:
        return FixedWindow(rate_per_s)
    return TokenBucket(rate_per_s, rate_per_s if burst is None else burst)
