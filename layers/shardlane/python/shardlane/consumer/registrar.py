"""Keeps the lease table in step with the stream's shards: what is missing, what is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random

from shardlane.consumer.bell import Bell
from shardlane.consumer.errors import ConsumerError, KinesisRefused, StreamNotFound
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Done, LeaseTable, Refused, StreamIdentity, Unknown
from shardlane.consumer.lineage import Beginning, deletable, first_start_ms, without_lease
from shardlane.consumer.position import Position
from shardlane.consumer.refusal import Refusal, meaning_of
from shardlane.consumer.shard import Shard
from shardlane.consumer.sightings import Sightings
from shardlane.consumer.stream import PatientCaller, identified, list_shards
from shardlane.consumer.terms import Terms

_log = logging.getLogger(__name__)

_SOON_S = 1.0
"""After a pass that the table cut short, and between two passes at least."""


class StreamRecreated(ConsumerError):
    """The stream is not the one that this run began with; for the subscription alone to see."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What ListShards told, asked at ``sent_s``."""

    shards: dict[str, Shard]
    sent_s: float


class Registrar:
    """Audits the stream: at the start, every minute, and when somebody wonders."""

    def __init__(
        self,
        stream: StreamIdentity,
        start: Position,
        *,
        caller: PatientCaller,
        table: LeaseTable,
        sightings: Sightings,
        terms: Terms,
        random: Random,
    ) -> None:
        self.on_change: Callable[[], None] = _nobody
        """Called when there may be new leases to take."""
        self._stream = stream
        self._start = start
        self._caller = caller
        self._table = table
        self._sightings = sightings
        self._terms = terms
        self._random = random
        self._clock_s: Callable[[], float] = asyncio.get_running_loop().time
        self._hurry = Bell()
        self._listing: Listing | None = None

    async def run(self) -> None:
        """Audits for ever. Raises ``StreamRecreated`` or ``StreamNotFound``."""
        while True:
            done = await self.audit()
            self.on_change()
            wait_s = self._terms.listing_s * self._random.uniform(0.8, 1.2) if done else _SOON_S
            await asyncio.sleep(_SOON_S)
            await self._hurry.wait(self._clock_s() + wait_s - _SOON_S)

    def hurry(self) -> None:
        """Somebody saw what the listing does not explain."""
        self._hurry.ring()

    def listed_for(self, row: Lease) -> Collection[str] | None:
        """The listed shards, if the listing is newer than the row's shard; else None."""
        listing = self._listing
        if listing is None:
            return None
        known_s = self._sightings.known_since_s(row.shard_id)
        if row.shard_id in listing.shards or (known_s is not None and known_s < listing.sent_s):
            return listing.shards
        return None

    async def audit(self) -> bool:
        """One pass; False if the table could not be read or written: try again soon."""
        # The table first: a row that has gone by then belongs to a shard that is not listed after.
        found = await self._table.scan()
        if isinstance(found, Unknown):
            _log.info("the lease table cannot be read: %s", found.reason)
            return False
        await self._check_identity()
        shards = await self._list()
        rows = {row.shard_id: row for row in found}
        return (
            await self._replace_stale(rows, shards)
            and await self._create_missing(rows, shards)
            and await self._delete_finished(rows, shards)
        )

    # --- for held shards (``Family``) -------------------------------------------------------

    async def is_gone(self, shard_id: str) -> bool:
        await self._check_identity()
        return shard_id not in await self._list()

    async def with_leases(self, parent: Lease, children: tuple[Shard, ...]) -> frozenset[str]:
        if not children:
            shards = (await self._list()).values()
            children = tuple(each for each in shards if parent.shard_id in each.parents)
        for child in children:
            lease = self._from_horizon(child)
            while isinstance(answer := await self._table.create(lease), Unknown):
                _log.info("%s: cannot create its lease: %s", child.shard_id, answer.reason)
                await asyncio.sleep(_SOON_S * self._random.random())
        return frozenset(child.shard_id for child in children)

    # --- inside -----------------------------------------------------------------------------

    async def _check_identity(self) -> None:
        stream = await identified(self._caller, self._stream.arn)
        if stream.created_ms != self._stream.created_ms:
            raise StreamRecreated(f"{self._stream.name} was deleted and created again")

    async def _list(self) -> dict[str, Shard]:
        sent_s = self._clock_s()
        try:
            shards = await list_shards(self._caller, self._stream.arn)
        except KinesisRefused as refusal:
            if meaning_of(refusal) is Refusal.NOT_FOUND:
                raise StreamNotFound(f"{self._stream.name} is gone") from refusal
            raise
        self._listing = Listing({each.shard_id: each for each in shards}, sent_s)
        return self._listing.shards

    def _from_horizon(self, shard: Shard) -> Lease:
        return Beginning(self._start, None, self._stream.created_ms).from_horizon(shard)

    async def _replace_stale(self, rows: dict[str, Lease], shards: dict[str, Shard]) -> bool:
        """Leases of an earlier stream of this name: their numbers mean nothing in this one.

        One by one, so that after a crash the rest still tells that the stream is another: its
        shards start at the horizon, wherever new ones would.
        """
        created_ms = self._stream.created_ms
        for row in list(rows.values()):
            if row.stream_created_ms in (None, created_ms):
                continue
            _log.error(
                "%s: its lease (at %s) is of an earlier stream named %s; starting it anew at the "
                "horizon",
                row.shard_id,
                row.checkpoint.value,
                self._stream.name,
            )
            if isinstance(await self._table.delete(row.shard_id, row.counter), Unknown):
                return False
            del rows[row.shard_id]
            shard = shards.get(row.shard_id)
            if shard is not None:
                lease = self._from_horizon(shard)
                if isinstance(await self._table.create(lease), Unknown):
                    return False
                rows[row.shard_id] = lease
        return True

    async def _create_missing(self, rows: dict[str, Lease], shards: dict[str, Shard]) -> bool:
        """Parents first: whether a shard's past counts is seen by whether its parent's lease was
        there before."""
        created: set[str] = set()
        beginning = self._beginning(rows)
        for shard in list(without_lease(shards.values(), rows)):
            was_read = any(parent in rows and parent not in created for parent in shard.parents)
            lease = self._new_lease(shard, beginning, was_read=was_read)
            answer = await self._table.create(lease)
            if isinstance(answer, Unknown):
                return False
            if isinstance(answer, Done):
                created.add(shard.shard_id)
                rows[shard.shard_id] = lease
            elif isinstance(answer, Refused) and answer.row is not None:
                rows[shard.shard_id] = answer.row
        return True

    def _beginning(self, rows: dict[str, Lease]) -> Beginning:
        """Where shards begin that have neither a lease nor a parent with one: at the position
        asked for; if leases are there already, the first start was cut short, and its time
        counts. Leases that tell no time are another library's: then nothing is left out."""
        start, created_ms = self._start, self._stream.created_ms
        if not rows:
            start_ms = start.start_ms(self._caller.kinesis.service_ms())
            return Beginning(start, start_ms, created_ms)
        known_ms = first_start_ms(rows.values())
        if start.kind != "latest":
            return Beginning(start, start.at_ms, created_ms)
        if known_ms is None:
            return Beginning(Position.horizon(), None, created_ms)
        return Beginning(start, known_ms, created_ms)

    def _new_lease(self, shard: Shard, beginning: Beginning, *, was_read: bool) -> Lease:
        if self._sightings.known_since_s(shard.shard_id) is not None:
            _log.error("%s: someone deleted its lease; starting at the horizon", shard.shard_id)
            return beginning.from_horizon(shard)
        return beginning.from_horizon(shard) if was_read else beginning.lease(shard)

    async def _delete_finished(self, rows: dict[str, Lease], shards: dict[str, Shard]) -> bool:
        for row in deletable(rows, shards):
            if isinstance(await self._table.delete(row.shard_id, row.counter), Unknown):
                return False
        return True


def _nobody() -> None:
    """Nobody waits."""
