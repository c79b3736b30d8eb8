"""The shard's read limits, shared by all readers: calls per second and bytes per second.

The local service's own limiters decide; only the default shape, the token bucket, is written
again here in one step, because it is the hot path of a sweep (a test compares the two).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shardlane_lab.local_kinesis.limiter import Limiter, LimiterShape, limiter
from shardlane_lab.local_kinesis.limits import Limits

_TOLERANCE_MS = 1e-3


class Gate(Protocol):
    def take(self, now_ms: float) -> bool:
        """Whether a call passes; one that does is charged."""
        ...

    def charge(self, now_ms: float, amount: float) -> None:
        """Takes ``amount`` without being asked; what is missing is a debt."""
        ...


class Bucket:
    """As ``TokenBucket``, with its question and its charge for one call in one step."""

    __slots__ = ("_at_ms", "_burst", "_enough", "_level", "_rate_per_ms")

    def __init__(self, rate_per_s: float, burst: float) -> None:
        self._rate_per_ms = rate_per_s / 1000.0
        self._burst = burst
        self._enough = min(1.0, burst) - self._rate_per_ms * _TOLERANCE_MS
        self._level = burst
        self._at_ms = float("-inf")

    def take(self, now_ms: float) -> bool:
        level = self._level + (now_ms - self._at_ms) * self._rate_per_ms
        if level > self._burst:
            level = self._burst
        self._at_ms = now_ms
        if level < self._enough:
            self._level = level
            return False
        self._level = level - 1.0
        return True

    def charge(self, now_ms: float, amount: float) -> None:
        level = self._level + (now_ms - self._at_ms) * self._rate_per_ms
        self._level = (level if level < self._burst else self._burst) - amount
        self._at_ms = now_ms

    def in_debt(self, now_ms: float) -> bool:
        return self._level + (now_ms - self._at_ms) * self._rate_per_ms < 0.0


class LimiterGate:
    """Any limiter of the local service as a gate."""

    __slots__ = ("_limiter",)

    def __init__(self, limiter_: Limiter) -> None:
        self._limiter = limiter_

    def take(self, now_ms: float) -> bool:
        if not self._limiter.allows(now_ms, 1.0):
            return False
        self._limiter.charge(now_ms, 1.0)
        return True

    def charge(self, now_ms: float, amount: float) -> None:
        self._limiter.charge(now_ms, amount)


def call_gate(limits: Limits) -> Gate:
    """GetRecords calls of one shard."""
    if limits.get_records_per_s is not None and (
        limits.get_records_shape is LimiterShape.TOKEN_BUCKET
    ):
        return Bucket(limits.get_records_per_s, limits.get_records_burst)
    return LimiterGate(
        limiter(limits.get_records_per_s, limits.get_records_burst, limits.get_records_shape)
    )


class ReadGate:
    """Both limits of one shard. A call is refused while the bytes of earlier answers are not
    paid for: an answer of 10 MiB holds up the next five seconds (GetRecords, API Reference)."""

    __slots__ = ("_bytes", "_calls", "counts_bytes", "take")

    def __init__(self, limits: Limits, most_bytes: float) -> None:
        """``most_bytes``: what all readers together can ever read. If that is within a second's
        worth, the limit cannot be reached and is not counted."""
        self._calls = call_gate(limits)
        rate = limits.read_bytes_per_s
        self._bytes = None if rate is None or most_bytes <= rate else Bucket(rate, rate)
        self.counts_bytes = self._bytes is not None
        self.take: Callable[[float], bool] = (
            self._calls.take if self._bytes is None else self._take_both
        )
        """Whether a call passes; one that does is charged."""

    def _take_both(self, now_ms: float) -> bool:
        if self._bytes is not None and self._bytes.in_debt(now_ms):
            return False
        return self._calls.take(now_ms)

    def force(self, now_ms: float) -> None:
        """Charges a call that is never refused."""
        self._calls.charge(now_ms, 1.0)

    def answered(self, now_ms: float, size_bytes: float) -> None:
        if self._bytes is not None:
            self._bytes.charge(now_ms, size_bytes)
