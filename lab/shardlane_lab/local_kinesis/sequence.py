"""Sequence numbers: decimal strings of 56 digits that grow within a shard, never one by one.

Ours read as ``49``, 16 digits of the shard's birth in milliseconds, 32 digits of a counter and 6
digits of the shard. A child is born after its parents, so its numbers are larger than theirs, as
the service's are. Nobody but this module may look inside.
"""

from __future__ import annotations

import re
from random import Random

_FORM = re.compile(r"49(\d{16})(\d{32})(\d{6})")
_LARGEST = 10**32 - 1


class SequenceNumbers:
    """Makes and reads the numbers of one shard."""

    def __init__(self, born_ms: int, shard: int, random: Random) -> None:
        self._prefix = f"49{born_ms:016d}"
        self._suffix = f"{shard:06d}"
        self._draw = random.getrandbits
        self.counter = 0
        """Of the last number given out."""

    def at(self, counter: int) -> str:
        return self._prefix + str(counter).zfill(32) + self._suffix

    def following(self) -> str:
        """A number for the next record. At least one number before it stays free, for a position
        between two records."""
        self.counter += 2 + self._draw(6)
        return self.at(self.counter)

    @property
    def first(self) -> str:
        return self.at(0)

    @property
    def largest(self) -> str:
        return self.at(_LARGEST)

    def counter_of(self, number: str) -> int | None:
        """Where ``number`` stands in this shard, or None if it is not of this shard."""
        match = _FORM.fullmatch(number)
        if match is None or not number.startswith(self._prefix):
            return None
        return int(match[2]) if match[3] == self._suffix else None
