"""The port to where leases are kept. Answers are values: "no longer mine" is no error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shardlane.consumer.lease import Change, Lease
from shardlane.parking.store import OwnerCheck


@dataclass(frozen=True, slots=True)
class Done:
    """The write happened; ``row`` is how the lease looks after it."""

    row: Lease


@dataclass(frozen=True, slots=True)
class Refused:
    """Its condition did not hold; ``row`` is the lease as it is, None if there is none."""

    row: Lease | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows whether it happened: a time-out, a server error, a throttle."""

    reason: str


Answer = Done | Refused | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdentity:
    """Which stream the leases are of."""

    name: str
    arn: str
    created_ms: int
    """Whole seconds in milliseconds: what DescribeStreamSummary tells."""

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]


class LeaseTable(Protocol):
    """The leases of one stream. Reads are strongly consistent, writes atomic and conditional (see
    ``lease``). Nothing is raised for what a network can do."""

    async def scan(self) -> list[Lease] | Unknown:
        """Every lease of the stream. Raises ``LeaseTableError`` if the table has gone."""

    async def create(self, lease: Lease) -> Answer:
        """CREATE, if there is none of that shard."""

    async def write(self, shard_id: str, counter: int, me: str, change: Change) -> Answer:
        """WRITE: renewal, checkpoint, release and end, if ``may_write``."""

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        """TAKE a lease as it was seen, if ``may_take``; a row without a start time gets this."""

    async def hand_off(self, shard_id: str, owner: str, me: str) -> Answer:
        """HANDOFF: asks the owner to finish and release it to me, if ``may_hand_off``."""

    def owner_check(self, shard_id: str, me: str) -> OwnerCheck | None:
        """For a transaction elsewhere: the condition that ``me`` holds the lease; None if no other
        process sees these leases."""

    async def delete(self, shard_id: str, counter: int) -> Answer:
        """Deletes the row, if ``may_delete``; the answer shows it as it was."""


class LeaseStore(Protocol):
    """Where a subscription keeps its leases."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes see these leases."""

    async def open(self, stream: StreamIdentity) -> LeaseTable:
        """The leases of a stream; makes the table if need be. Raises ``LeaseTableError`` if it
        cannot be used."""

    async def close(self) -> None:
        """Frees connections and threads."""
