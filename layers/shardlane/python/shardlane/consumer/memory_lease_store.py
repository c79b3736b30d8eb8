"""Leases in this process's memory: the default, and what the simulation runs on."""

from __future__ import annotations

from collections.abc import Callable

from shardlane.consumer import lease as rules
from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_store import Answer, Done, Refused, StreamIdentity
from shardlane.parking.store import OwnerCheck


class MemoryLeaseStore:
    """Every instance that has one of its own reads every shard, and a restart forgets it all.

    Subscriptions of one process may share one instance, and with it the shards.
    """

    def __init__(self) -> None:
        self._tables: dict[str, MemoryLeaseTable] = {}

    @property
    def is_shared(self) -> bool:
        return False

    async def open(self, stream: StreamIdentity) -> MemoryLeaseTable:
        table = self._tables.setdefault(stream.arn, MemoryLeaseTable())
        table.stream_created_ms = stream.created_ms
        return table

    async def close(self) -> None:
        """There is nothing to free."""


class MemoryLeaseTable:
    """The rules of ``lease`` on a dictionary. Each verb runs without an await: it is atomic."""

    def __init__(self) -> None:
        self.stream_created_ms = 0
        self.rows: dict[str, Lease] = {}

    async def scan(self) -> list[Lease]:
        return list(self.rows.values())

    async def create(self, lease: Lease) -> Answer:
        if lease.shard_id in self.rows:
            return Refused(self.rows[lease.shard_id])
        self.rows[lease.shard_id] = lease
        return Done(lease)

    async def write(self, shard_id: str, counter: int, me: str, change: Change) -> Answer:
        return self._change(
            shard_id,
            lambda row: rules.may_write(row, counter, me, change),
            lambda row: rules.written(row, change),
        )

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        created_ms = self.stream_created_ms
        return self._change(
            seen.shard_id,
            lambda row: rules.may_take(row, seen),
            lambda row: rules.taken(row, me, created_ms, start_ms),
        )

    async def hand_off(self, shard_id: str, owner: str, me: str) -> Answer:
        return self._change(
            shard_id,
            lambda row: rules.may_hand_off(row, owner),
            lambda row: rules.handed_off(row, me),
        )

    def owner_check(self, shard_id: str, me: str) -> OwnerCheck | None:
        return None

    async def delete(self, shard_id: str, counter: int) -> Answer:
        row = self.rows.get(shard_id)
        if row is None or not rules.may_delete(row, counter):
            return Refused(row)
        return Done(self.rows.pop(shard_id))

    def _change(
        self, shard_id: str, allowed: Callable[[Lease], bool], change: Callable[[Lease], Lease]
    ) -> Answer:
        row = self.rows.get(shard_id)
        if row is None or not allowed(row):
            return Refused(row)
        self.rows[shard_id] = change(row)
        return Done(self.rows[shard_id])
