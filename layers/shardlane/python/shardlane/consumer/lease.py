"""A row of the lease table, and the rules of every write to it.

The table and its counter protocol are the Kinesis Client Library's own (``Lease``,
``DynamoDBLeaseRefresher`` and ``DynamoDBLeaseSerializer`` in awslabs/amazon-kinesis-client), so
that either can go on where the other stopped. The rules are here as predicates and effects on
values; a store evaluates them atomically, in memory or as DynamoDB condition expressions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shardlane.consumer.checkpoint import HORIZON, Checkpoint

OWNER_PREFIX = "shardlane/"
"""Owners that answer a hand-over; the client library's versions 1 and 2 would never release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One shard's row. ``counter`` moves with every write of an owner and never goes back."""

    shard_id: str
    counter: int = 0
    owner: str | None = None
    """None when free."""
    checkpoint_owner: str | None = None
    """During a hand-over: who still finishes what it started, while ``owner`` waits."""
    checkpoint: Checkpoint = HORIZON
    switches: int = 0
    """Changes of owner since the last checkpoint."""
    parents: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    hash_range: tuple[str, str] | None = None
    """First and last hash key, decimal."""
    stream_created_ms: int | None = None
    """When the stream was created: tells a stream from an earlier one of its name."""
    start_ms: int | None = None
    """Epoch milliseconds (the service's clock) that a start by time is kept at."""

    def held_by(self, me: str) -> bool:
        """Whether ``me`` may renew and checkpoint: the owner, or the one handing over."""
        if self.checkpoint_owner is None:
            return self.owner == me
        return self.checkpoint_owner == me

    @property
    def holder(self) -> str | None:
        """Whose work the shard is now."""
        return self.checkpoint_owner or self.owner

    @property
    def is_ended(self) -> bool:
        return self.checkpoint.is_end


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a WRITE changes beside the counter."""

    checkpoint: Checkpoint | None = None
    start_ms: int | None = None
    """With a checkpoint at a time, after a seek."""
    children: frozenset[str] = frozenset()
    """With the checkpoint SHARD_END."""
    give_up: bool = False
    """The last write of this holder: the lease is free, or the next owner's, after it."""
    handing_over: bool = False
    """How the row looked when this was decided: giving up removes ``checkpoint_owner`` then, and
    ``owner`` otherwise. A row that looks different refuses it."""


RENEWAL = Change()


def may_write(row: Lease, counter: int, me: str, change: Change) -> bool:
    """WRITE: nobody wrote in between, the lease is mine, and giving it up means what I think."""
    return (
        counter_stands(row, counter)
        and row.held_by(me)
        and (not change.give_up or gives_up_the_right_name(row, change))
    )


def may_take(row: Lease, seen: Lease) -> bool:
    """TAKE: the row is as it was seen."""
    return counter_stands(row, seen.counter) and owner_stands(row, seen.owner)


def may_hand_off(row: Lease, owner: str) -> bool:
    """HANDOFF: that owner still has it, and no other hand-over is under way."""
    return owner_stands(row, owner) and no_hand_over(row)


def may_delete(row: Lease, counter: int) -> bool:
    return counter_stands(row, counter)


def counter_stands(row: Lease, counter: int) -> bool:
    return row.counter == counter


def owner_stands(row: Lease, owner: str | None) -> bool:
    return row.owner == owner


def no_hand_over(row: Lease) -> bool:
    return row.checkpoint_owner is None


def gives_up_the_right_name(row: Lease, change: Change) -> bool:
    return change.handing_over == (row.checkpoint_owner is not None)


def written(row: Lease, change: Change) -> Lease:
    """The row after a WRITE."""
    row = replace(row, counter=row.counter + 1)
    if change.checkpoint is not None:
        row = replace(row, checkpoint=change.checkpoint, switches=0)
    if change.start_ms is not None:
        row = replace(row, start_ms=change.start_ms)
    if change.children:
        row = replace(row, children=change.children)
    if change.give_up and change.handing_over:
        return replace(row, checkpoint_owner=None)
    return replace(row, owner=None) if change.give_up else row


def taken(row: Lease, me: str, stream_created_ms: int, start_ms: int | None) -> Lease:
    """The row after a TAKE. ``start_ms`` is kept only if the row has none."""
    return replace(
        row,
        owner=me,
        checkpoint_owner=None,
        counter=row.counter + 1,
        switches=row.switches + (row.owner not in (None, me)),
        stream_created_ms=stream_created_ms,
        start_ms=start_ms if row.start_ms is None else row.start_ms,
    )


def handed_off(row: Lease, me: str) -> Lease:
    """The row after a HANDOFF: mine once its holder releases it. The counter stands, so that the
    holder's writes go on."""
    return replace(row, owner=me, checkpoint_owner=row.owner)
