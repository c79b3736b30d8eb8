"""What the held shards of a subscription share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from shardlane.consumer.counters import Counters
from shardlane.consumer.desk import Desk
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import LeaseTable
from shardlane.consumer.loop_caller import LoopCaller
from shardlane.consumer.reader import Service
from shardlane.consumer.reading import Reading
from shardlane.consumer.shard import Shard
from shardlane.consumer.source import ReaderFactory
from shardlane.consumer.terms import Terms


class Family(Protocol):
    """Knows a stream's shards."""

    async def is_gone(self, shard_id: str) -> bool:
        """Whether a shard that the service does not know has left the listing, too."""

    async def with_leases(self, parent: Lease, children: tuple[Shard, ...]) -> frozenset[str]:
        """Makes sure that the children of an ended shard have leases; returns their names.
        ``children`` may be empty: then the listing is asked."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the held shards of a subscription share."""

    service: Service
    table: LeaseTable
    terms: Terms
    desk: Desk
    counters: Counters
    make_reader: ReaderFactory
    family: Family
    call_on_loop: LoopCaller
    abandon: Callable[[Reading], None]
    """Cancels what can be cancelled of a lost reading."""
    learn_gates: Callable[[], Awaitable[None]]
    """Reads which keys are quarantined: before the first delivery of a tenure, because its
    earlier owner may have parked records."""
