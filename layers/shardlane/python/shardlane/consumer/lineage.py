"""Parents and children: which leases to create, which may start, which to delete. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from shardlane.consumer.checkpoint import HORIZON, Checkpoint
from shardlane.consumer.lease import Lease
from shardlane.consumer.position import Position
from shardlane.consumer.shard import Shard


def is_startable(row: Lease, rows: Mapping[str, Lease], listed: Collection[str] | None) -> bool:
    """Whether every parent is finished: at SHARD_END, or trimmed (neither a row nor listed).

    ``listed`` are the shards of a listing that is newer than the row, or None if there is none:
    an older one may not know the parent yet.
    """
    for parent in row.parents:
        known = rows.get(parent)
        if known is not None and not known.is_ended:
            return False
        if known is None and (listed is None or parent in listed):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where shards begin that have no lease yet."""

    start: Position
    start_ms: int | None
    """What the start by time is kept at; see ``first_start_ms`` for a stream with leases."""
    stream_created_ms: int

    def lease(self, shard: Shard) -> Lease:
        """A lease at the position asked for."""
        checkpoint = self.start.checkpoint_for(shard.shard_id)
        return shard.lease(checkpoint, self.stream_created_ms, self.start_ms)

    def from_horizon(self, shard: Shard, checkpoint: Checkpoint = HORIZON) -> Lease:
        """A lease of a shard of which everything counts, never LATEST: a child of a shard that
        was read, or one whose row someone has deleted."""
        return shard.lease(checkpoint, self.stream_created_ms)


def first_start_ms(rows: Iterable[Lease]) -> int | None:
    """When the application started first, as far as its leases tell."""
    return min((row.start_ms for row in rows if row.start_ms is not None), default=None)


def without_lease(shards: Iterable[Shard], rows: Collection[str]) -> Iterator[Shard]:
    """The shards that have no lease, parents before their children."""
    missing = {shard.shard_id: shard for shard in shards if shard.shard_id not in rows}
    visited: set[str] = set()

    def visit(shard: Shard) -> Iterator[Shard]:
        if shard.shard_id in visited:
            return
        visited.add(shard.shard_id)
        for parent in sorted(shard.parents):
            if parent in missing:
                yield from visit(missing[parent])
        yield shard

    for shard in missing.values():
        yield from visit(shard)


def deletable(rows: Mapping[str, Lease], listed: Collection[str]) -> list[Lease]:
    """Finished leases that nobody needs: their shard has left ListShards, and every child has
    been begun (else a child would be taken for one without parents)."""
    return [
        row
        for row in rows.values()
        if row.is_ended and row.shard_id not in listed and _children_begun(row, rows, listed)
    ]


def _children_begun(parent: Lease, rows: Mapping[str, Lease], listed: Collection[str]) -> bool:
    born_of = {row.shard_id for row in rows.values() if parent.shard_id in row.parents}
    for child in born_of | parent.children:
        row = rows.get(child)
        if row is None and child in listed:
            return False
        if row is not None and not (row.checkpoint.is_number or row.is_ended):
            return False
    return True
