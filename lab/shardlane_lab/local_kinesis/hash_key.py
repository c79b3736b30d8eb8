"""Which shard a record belongs to: MD5 of the partition key as a number of 128 bits.

Source: PutRecord in the Amazon Kinesis Data Streams API Reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import md5
from itertools import pairwise

SPACE = 1 << 128
"""How many hash keys there are; the largest one is one less."""


def hash_key(partition_key: str) -> int:
    digest = md5(partition_key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big")


@dataclass(frozen=True, slots=True)
class HashKeyRange:
    """From ``start`` to ``end``, both inside."""

    start: int
    end: int

    def __contains__(self, key: int) -> bool:
        return self.start <= key <= self.end

    def touches(self, other: HashKeyRange) -> bool:
        """Whether the two together have no gap."""
        return self.end + 1 == other.start or other.end + 1 == self.start

    def joined(self, other: HashKeyRange) -> HashKeyRange:
        return HashKeyRange(min(self.start, other.start), max(self.end, other.end))

    def as_dict(self) -> dict[str, str]:
        return {"StartingHashKey": str(self.start), "EndingHashKey": str(self.end)}


def even_ranges(count: int) -> list[HashKeyRange]:
    """The whole space in ``count`` parts that differ by one key at most."""
    bounds = [SPACE * part // count for part in range(count + 1)]
    return [HashKeyRange(low, high - 1) for low, high in pairwise(bounds)]
