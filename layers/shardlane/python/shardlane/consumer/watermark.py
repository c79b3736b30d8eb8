"""The settled prefix of what a reader delivered: the only thing that may become a checkpoint."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

P = TypeVar("P")

_COMPACT_FROM = 4096
"""Positions that the mark has passed are forgotten in bulk, once they are this many and half."""


class Watermark(Generic[P]):
    """Counts arrivals; what a position looks like is none of its business.

    Records may be settled in any order. The mark stands at the last record before the first one
    that is not settled, so it never passes an unfinished one.
    """

    __slots__ = ("_base", "_head", "_positions", "_settled")

    def __init__(self) -> None:
        self._positions: list[P] = []
        self._settled = bytearray()
        self._base = 0
        """Arrival index of ``_positions[0]``."""
        self._head = 0
        """Offset of the first position that is not settled."""

    def register(self, position: P) -> int:
        """A record arrived; returns its arrival index, to settle it by."""
        self._positions.append(position)
        self._settled.append(0)
        return self._base + len(self._positions) - 1

    def settle(self, index: int) -> bool:
        """The record that arrived as ``index`` is done with. True if the mark moved."""
        settled, offset = self._settled, index - self._base
        settled[offset] = 1
        if offset != self._head:
            return False
        following = settled.find(0, offset)
        self._head = len(settled) if following < 0 else following
        if self._head > _COMPACT_FROM and self._head * 2 > len(settled):
            self._compact()
        return True

    @property
    def position(self) -> P | None:
        """Of the last record of the settled prefix; None before the first."""
        return self._positions[self._head - 1] if self._head else None

    @property
    def outstanding(self) -> int:
        """Records that arrived and that the mark has not passed, settled ones among them."""
        return len(self._positions) - self._head

    def latest_of(self, unstarted: Collection[int]) -> int:
        """The last arrival index that is not among ``unstarted``; −1 if there is none."""
        last = self._base + len(self._positions) - 1
        while last in unstarted:
            last -= 1
        return last

    @property
    def oldest(self) -> P | None:
        """The first record that is not settled."""
        return self._positions[self._head] if self._head < len(self._positions) else None

    def _compact(self) -> None:
        # The last passed one stays: it is the mark's position.
        gone = self._head - 1
        del self._positions[:gone]
        del self._settled[:gone]
        self._base += gone
        self._head = 1
