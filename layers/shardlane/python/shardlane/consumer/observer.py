"""Watches the lease table, and takes or asks for what this process should have."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from random import Random

from shardlane.consumer.bell import Bell
from shardlane.consumer.checkpoint import AT_TIMESTAMP, LATEST
from shardlane.consumer.holdings import Holdings
from shardlane.consumer.lease import Change, Lease
from shardlane.consumer.lease_plan import Plan, plan
from shardlane.consumer.lease_store import Answer, Done, LeaseTable, Unknown
from shardlane.consumer.lineage import is_startable
from shardlane.consumer.position import Position
from shardlane.consumer.registrar import Registrar
from shardlane.consumer.sightings import Sightings
from shardlane.consumer.surroundings import Surroundings
from shardlane.consumer.terms import Terms

_log = logging.getLogger(__name__)

_AT_ONCE = 16
"""TAKEs under way together: starting on many shards should not take as many round trips."""

_GIVEN_UP = Change(give_up=True, handing_over=True)


class Observer:
    """Scans the table about once a second; the decision itself is ``lease_plan.plan``."""

    def __init__(
        self,
        me: str,
        start: Position,
        *,
        around: Surroundings,
        holdings: Holdings,
        registrar: Registrar,
        sightings: Sightings,
    ) -> None:
        self._me = me
        self._start = start
        self._table: LeaseTable = around.table
        self._terms: Terms = around.terms
        self._random: Random = around.service.random
        self._kinesis = around.service.kinesis
        self._holdings = holdings
        self._registrar = registrar
        self._sightings = sightings
        self._loop = asyncio.get_running_loop()
        self._bell = Bell()
        self._leases = 0
        self._stopping = False
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        try:
            while not self._stopping:
                await self.look()
                await self._bell.wait(self._loop.time() + self._period_s())
        finally:
            self._stopped.set()

    async def stop(self) -> None:
        """Takes nothing more; waits for a TAKE that is under way, or its lease would have to run
        out."""
        self._stopping = True
        self._bell.ring()
        await self._stopped.wait()

    def hurry(self) -> None:
        """Something has changed: look at once."""
        self._bell.ring()

    async def look(self) -> None:
        """One scan, and what follows from it."""
        rows = await self._table.scan()
        if self._stopping:
            return
        if isinstance(rows, Unknown):
            _log.info("the lease table cannot be read: %s", rows.reason)
            return
        self._leases = len(rows)
        self._sightings.saw(rows, self._loop.time())
        found = self._plan(rows)
        for first in range(0, len(found.take), _AT_ONCE):
            await asyncio.gather(*map(self._take, found.take[first : first + _AT_ONCE]))
        for row in found.release:
            await self._within(self._table.write(row.shard_id, row.counter, self._me, _GIVEN_UP))
        if found.ask is not None and found.ask.owner is not None:
            await self._within(self._table.hand_off(found.ask.shard_id, found.ask.owner, self._me))

    def _plan(self, rows: Sequence[Lease]) -> Plan:
        by_id = {row.shard_id: row for row in rows}

        def startable(row: Lease) -> bool:
            listed = self._registrar.listed_for(row)
            if listed is None and any(parent not in by_id for parent in row.parents):
                self._registrar.hurry()
            return is_startable(row, by_id, listed)

        return plan(
            rows,
            me=self._me,
            held=self._holdings.shard_ids,
            is_expired=self._sightings.is_expired,
            is_startable=startable,
            random=self._random,
        )

    async def _take(self, row: Lease) -> None:
        sent_s = self._loop.time()
        answer = await self._within(self._table.take(row, self._me, self._start_ms(row)))
        if isinstance(answer, Done):
            self._holdings.hold(answer.row, sent_s)

    def _start_ms(self, row: Lease) -> int | None:
        """For a row that starts by time but does not say which: another library wrote it."""
        if row.checkpoint.value == LATEST:
            return int(self._kinesis.service_ms())
        return self._start.at_ms if row.checkpoint.value == AT_TIMESTAMP else None

    async def _within(self, call: Awaitable[Answer]) -> Answer:
        try:
            async with asyncio.timeout(self._terms.answer_s):
                return await call
        except TimeoutError:
            return Unknown(f"no answer within {self._terms.answer_s:g} s")

    def _period_s(self) -> float:
        many = self._leases > self._terms.many_leases
        return self._terms.scan_s * (2 if many else 1) * self._random.uniform(0.8, 1.2)
