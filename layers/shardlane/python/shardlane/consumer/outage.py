"""An outage is not poison: when many keys fail at about the same time, none is given up on.

Lambda counts within an invocation (``shardlane.breaker``); here there is none, so a window of time
takes its place.
"""

from __future__ import annotations

from shardlane.breaker import most_failing_keys

WINDOW_S = 30.0
"""Keys count for one to two of these: longer than the wait between two attempts, so that a key
that still fails stays counted."""
MOST_TRACKED = 1_000
"""Keys of one window that are remembered: with more, 30 % of them are more than a lot takes."""


class Outage:
    """Counts the keys that were handled and those that failed for good, lately. Times in seconds
    on one clock. ``saw`` may be called from every thread."""

    def __init__(self, most_keys: int | None) -> None:
        """``most_keys``: how many may fail; default the larger of 5 and 30 % of all."""
        self._most_keys = most_keys
        self._began_s = float("-inf")
        self._handled: tuple[set[str], set[str]] = (set(), set())
        """Of this window and of the one before."""
        self._failing: tuple[set[str], set[str]] = (set(), set())

    def saw(self, key: str) -> None:
        """A record of the key was handled."""
        handled = self._handled[0]
        if len(handled) < MOST_TRACKED:
            handled.add(key)

    def admits(self, key: str, now_s: float) -> bool:
        """Whether one more failure, of ``key``, may still be parked or dropped."""
        self._turn(now_s)
        self._failing[0].add(key)
        failing = self._failing[0] | self._failing[1]
        # ``saw`` may add while this copies: then the copy is taken again.
        keys = failing | _copy(self._handled[0]) | _copy(self._handled[1])
        most = self._most_keys
        return len(failing) <= (most_failing_keys(len(keys)) if most is None else most)

    def _turn(self, now_s: float) -> None:
        if now_s < self._began_s + WINDOW_S:
            return
        is_old = now_s >= self._began_s + 2 * WINDOW_S
        self._began_s = now_s
        self._handled = (set(), set() if is_old else self._handled[0])
        self._failing = (set(), set() if is_old else self._failing[0])


def _copy(keys: set[str]) -> set[str]:
    while True:
        try:
            return set(keys)
        except RuntimeError:  # it grew under the copy
            continue
