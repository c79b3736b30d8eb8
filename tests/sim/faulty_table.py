"""The lease table behind a network: requests and answers get lost, or come late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_store import Answer, Done, StreamIdentity, Unknown
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.parking.store import OwnerCheck
from tests.sim.ledger import Ledger, Write
from tests.sim.network import Link

T = TypeVar("T")

TIMEOUT_S = 1.0


class FaultyStore:
    """One machine's way to the table that all machines share."""

    is_shared = True

    def __init__(self, table: MemoryLeaseTable, link: Link, ledger: Ledger) -> None:
        self._table = FaultyTable(table, link, ledger)

    async def open(self, stream: StreamIdentity) -> FaultyTable:
        return self._table

    async def close(self) -> None:
        """There is nothing to free."""


class FaultyTable:
    def __init__(self, table: MemoryLeaseTable, link: Link, ledger: Ledger) -> None:
        self._table = table
        self._link = link
        self._ledger = ledger

    async def scan(self) -> list[Lease] | Unknown:
        if self._link.happens(self._link.weather.refused):
            return Unknown("throttled")
        return await self._link.ask(
            lambda: at_once(self._table.scan()), lambda: Unknown("no answer"), TIMEOUT_S
        )

    async def create(self, lease: Lease) -> Answer:
        what = Write("create", lease.shard_id)
        return await self._ask(what, lambda: self._table.create(lease))

    async def write(self, shard_id: str, counter: int, me: str, change: Change) -> Answer:
        what = Write("write", shard_id, me, change)
        return await self._ask(what, lambda: self._table.write(shard_id, counter, me, change))

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        what = Write("take", seen.shard_id, me)
        return await self._ask(what, lambda: self._table.take(seen, me, start_ms))

    async def hand_off(self, shard_id: str, owner: str, me: str) -> Answer:
        what = Write("hand_off", shard_id, me)
        return await self._ask(what, lambda: self._table.hand_off(shard_id, owner, me))

    def owner_check(self, shard_id: str, me: str) -> OwnerCheck:
        return {"shard_id": shard_id, "me": me}

    async def delete(self, shard_id: str, counter: int) -> Answer:
        what = Write("delete", shard_id)
        return await self._ask(what, lambda: self._table.delete(shard_id, counter))

    async def _ask(self, what: Write, verb: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        sent_s = asyncio.get_running_loop().time()

        def effect() -> Answer:
            before = self._table.rows.get(what.shard_id)
            answer = at_once(verb())
            if isinstance(answer, Done):
                after = self._table.rows.get(what.shard_id)
                self._ledger.table_changed(what, before, after, sent_s)
            return answer

        if self._link.happens(self._link.weather.refused):
            return Unknown("throttled")
        return await self._link.ask(effect, lambda: Unknown("no answer"), TIMEOUT_S)


def at_once(verb: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits."""
    try:
        verb.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a verb of the in-memory table waited")
