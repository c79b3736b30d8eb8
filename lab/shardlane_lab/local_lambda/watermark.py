"""How far a shard is finished without a gap. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class Watermark:
    """Slices of a shard finish in any order; the checkpoint is the last record before the first
    unfinished one. Records are counted by ``Record.index``, without gaps, from 0."""

    def __init__(self) -> None:
        self._open: deque[tuple[int, str]] = deque()
        self._settled: set[int] = set()
        self.sequence_number: str | None = None
        """Of the last record of the finished part; ``None`` before the first."""

    @property
    def unsettled(self) -> int:
        return len(self._open) - len(self._settled)

    def register(self, index: int, sequence_number: str) -> None:
        self._open.append((index, sequence_number))

    def settle(self, indices: Iterable[int]) -> bool:
        """Whether the finished part grew."""
        self._settled.update(indices)
        grown = False
        while self._open and self._open[0][0] in self._settled:
            index, self.sequence_number = self._open.popleft()
            self._settled.remove(index)
            grown = True
        return grown
