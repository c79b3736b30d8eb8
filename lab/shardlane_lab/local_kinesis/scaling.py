"""How to get from some hash-key ranges to an even partition, by splits and merges only.

UpdateShardCount does it in the service too, short-lived shards included (UpdateShardCount, API
Reference).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from shardlane_lab.local_kinesis.hash_key import HashKeyRange, even_ranges


@dataclass(frozen=True, slots=True)
class Split:
    """``parent`` becomes two; the second starts at ``at``."""

    parent: HashKeyRange
    at: int

    @property
    def children(self) -> list[HashKeyRange]:
        return [
            HashKeyRange(self.parent.start, self.at - 1),
            HashKeyRange(self.at, self.parent.end),
        ]


@dataclass(frozen=True, slots=True)
class Merge:
    """Two that touch become one."""

    low: HashKeyRange
    high: HashKeyRange

    @property
    def child(self) -> HashKeyRange:
        return self.low.joined(self.high)


def steps_to(current: Sequence[HashKeyRange], count: int) -> list[Split | Merge]:
    """In the order to take them. ``current`` covers the space without gaps, in order."""
    starts = [target.start for target in even_ranges(count)]
    steps: list[Split | Merge] = []
    pieces: list[HashKeyRange] = []
    for keys in current:
        rest = keys
        inside = slice(bisect_right(starts, keys.start), bisect_right(starts, keys.end))
        for at in starts[inside]:
            split = Split(rest, at)
            steps.append(split)
            piece, rest = split.children
            pieces.append(piece)
        pieces.append(rest)
    return steps + _merges(pieces, set(starts))


def _merges(pieces: Sequence[HashKeyRange], starts: set[int]) -> list[Split | Merge]:
    """Joins the pieces between two ``starts``."""
    steps: list[Split | Merge] = []
    grown = pieces[0]
    for piece in pieces[1:]:
        if piece.start in starts:
            grown = piece
            continue
        merge = Merge(grown, piece)
        steps.append(merge)
        grown = merge.child
    return steps
