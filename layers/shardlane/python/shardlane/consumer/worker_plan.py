"""How many handlers run at once, and whose order they keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardlane.consumer.held_record import HeldRecord
from shardlane.consumer.lanes import Lanes
from shardlane.errors import SettingsError
from shardlane.record import Record

MOST_WORKERS = 4096
Key = Callable[[Record], str]


def by_key(record: Record) -> str:
    """The order that the delivery contract promises: that of the partition key."""
    return record.partition_key


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Made by ``workers``; the default is one loop in arrival order."""

    count: int = 1
    """Workers; for batches, what one may hold."""
    key: Key | None = by_key
    batches: bool = False

    def lanes(self) -> Lanes:
        """As many lanes as workers if keys have an order, else one lane for all of them."""
        if self.key is None or self.batches:
            return Lanes(1, self.count)
        return Lanes(self.count, 1)

    def key_of(self, record: HeldRecord) -> str | None:
        return None if self.key is None else self.key(record)


ONE_LOOP = WorkerPlan()


def workers(count: int, key: Key | None = None) -> WorkerPlan:
    """Up to ``count`` handlers at once.

    Without a key no order is kept. With ``by_key`` there are ``count`` lanes, a partition key is
    always in the same one, and its records run in order and one at a time. Any other function
    from record to text keeps the order of what it returns instead.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_WORKERS:
        raise SettingsError(f"workers({count!r}): allowed are 1 to {MOST_WORKERS}")
    return WorkerPlan(count, key)


def in_batches(size: int) -> WorkerPlan:
    """One lane, of which up to ``size`` records are taken together."""
    return WorkerPlan(size, by_key, batches=True)
