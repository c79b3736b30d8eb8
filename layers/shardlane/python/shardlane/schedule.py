"""Which record may start next: the pure heart of keyed processing.

No thread, clock or log is in here; a driver asks, runs and reports, under a lock of its own if it
has threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush


class Schedule:
    """Records of a batch by position, 0 … n-1 in stream order, each with its key.

    A key is *claimed* from the moment one of its records starts until that record is settled and
    no later one of the key has been met meanwhile. ``take`` hands out the lowest position whose
    key is not claimed, so records of one key start in order and one at a time, and any free
    worker takes any ready key.
    """

    __slots__ = ("_claimed", "_cursor", "_due", "_keys", "_limit", "_ready", "_settled", "running")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._limit = len(keys)
        self._cursor = 0
        self._settled = bytearray(len(keys))
        self._claimed: dict[str, deque[int] | None] = {}
        """Key → its later positions that the cursor has passed; None: none yet."""
        self._ready: list[int] = []
        """Heap of positions behind the cursor that may start now; their keys are claimed."""
        self._due: list[tuple[float, int]] = []
        """Heap of (time, position) that wait for their next attempt; their keys are claimed."""
        self.running = 0
        """How many positions were taken and not reported back."""

    def take(self) -> int | None:
        """The position to start now, or None while nothing may start."""
        while self._ready and self._ready[0] < self._limit:
            position = heappop(self._ready)
            if not self._settled[position]:
                self.running += 1
                return position
            self._release(position)
        while self._cursor < self._limit:
            position = self._cursor
            self._cursor = position + 1
            if self._settled[position]:
                continue
            key = self._keys[position]
            if key not in self._claimed:
                self._claimed[key] = None
                self.running += 1
                return position
            waiting = self._claimed[key]
            if waiting is None:
                waiting = self._claimed[key] = deque()
            waiting.append(position)
        return None

    def settle(self, position: int) -> None:
        """The record that was taken is done with; the next one of its key may start."""
        self._settled[position] = 1
        self.running -= 1
        if self._claimed[self._keys[position]] is None:
            del self._claimed[self._keys[position]]  # nearly always: no other record of it was met
        else:
            self._release(position)

    def settle_first(self, count: int) -> None:
        """The first ``count`` records, none of them taken, were handled one after the other."""
        self._settled[:count] = b"\1" * count
        self._cursor = count

    def settle_behind(self, positions: Sequence[int]) -> None:
        """Records that were never taken are done with: they were parked behind their key."""
        for position in positions:
            self._settled[position] = 1

    def retry_at(self, position: int, due_s: float) -> None:
        """The record that was taken is to start again at ``due_s``; its key waits until then."""
        self.running -= 1
        heappush(self._due, (due_s, position))

    def fail(self, position: int) -> None:
        """The record that was taken stays unfinished: nothing at or after it starts any more."""
        self.running -= 1
        self._limit = min(self._limit, position)

    def stop(self) -> None:
        """Nothing starts any more, whatever its place."""
        self._limit = 0

    def wake(self, now_s: float) -> None:
        """Lets the records start whose wait is over."""
        while self._due and self._due[0][0] <= now_s:
            heappush(self._ready, heappop(self._due)[1])

    def next_due_s(self) -> float | None:
        """When the next waiting record may start, or None if none that may start waits."""
        return min((due for due, position in self._due if position < self._limit), default=None)

    @property
    def finished(self) -> bool:
        """Nothing runs, and nothing will start any more. Ask after ``take`` returned None."""
        return (
            not self.running
            and self._cursor >= self._limit
            and not (self._ready and self._ready[0] < self._limit)
            and self.next_due_s() is None
        )

    def following(self, position: int, most: int) -> list[int]:
        """``position``, which was taken, and the next unsettled ones of its key that may still
        start; at most ``most``."""
        key, found = self._keys[position], [position]
        for each in range(position + 1, self._limit):
            if len(found) == most:
                break
            if self._keys[each] == key and not self._settled[each]:
                found.append(each)
        return found

    def unsettled(self) -> list[int]:
        """Every position that is not settled, ascending."""
        if 0 not in self._settled:
            return []
        return [position for position, settled in enumerate(self._settled) if not settled]

    def _release(self, position: int) -> None:
        """Hands the claim on the key to its next position that was met, or gives it up."""
        key = self._keys[position]
        waiting = self._claimed[key]
        while waiting:
            following = waiting.popleft()
            if not self._settled[following]:
                heappush(self._ready, following)
                return
        del self._claimed[key]
