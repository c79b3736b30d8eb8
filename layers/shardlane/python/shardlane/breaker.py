"""An outage is not poison: when too many keys fail, nothing is settled without being handled."""

from __future__ import annotations

LEAST_KEYS = 5
"""A small batch (a bisected one, say) may have this many failing keys, whatever their share."""
SHARE_OF_KEYS = 0.3


def most_failing_keys(keys: int) -> float:
    """How many of an invocation's ``keys`` may fail before it looks like an outage."""
    return max(LEAST_KEYS, SHARE_OF_KEYS * keys)


class Breaker:
    """Counts failing keys of one invocation; pure."""

    __slots__ = ("_failing", "_most")

    def __init__(self, most: float) -> None:
        self._failing: set[str] = set()
        self._most = most

    def admits(self, key: str) -> bool:
        """Whether one more failure, of ``key``, may still be parked or dropped."""
        self._failing.add(key)
        return len(self._failing) <= self._most
