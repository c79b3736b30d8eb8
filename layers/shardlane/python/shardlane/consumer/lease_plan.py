"""Which leases to take, or to ask for: a pure decision on one scan of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from random import Random

from shardlane.consumer.lease import OWNER_PREFIX, Lease


@dataclass(frozen=True, slots=True)
class Plan:
    """``take`` these as seen; ask the owner of ``ask`` to hand it over; ``release`` these, which
    others wait for."""

    take: tuple[Lease, ...] = ()
    ask: Lease | None = None
    release: tuple[Lease, ...] = ()


def plan(
    rows: Iterable[Lease],
    *,
    me: str,
    held: Collection[str],
    is_expired: Callable[[Lease], bool],
    is_startable: Callable[[Lease], bool],
    random: Random,
) -> Plan:
    """The plan of worker ``me``, which holds the shards ``held``.

    Workers are the owners of leases that have not expired, and ``me``; each should have its part
    of the leases, rounded up. Free, expired and granted leases are taken in random order, so that
    several workers do not run for the same one; only when there are none is one asked for.
    """
    live = [row for row in rows if not row.is_ended]
    loads = Counter(
        row.owner
        for row in live
        if row.owner is not None and row.owner != me and not is_expired(row)
    )
    mine = [row for row in live if row.shard_id in held or _awaited(row, me, is_expired)]
    target = -(-len(live) // (len(loads) + 1))
    takeable = [
        row
        for row in live
        if row.shard_id not in held and _is_takeable(row, me, is_expired) and is_startable(row)
    ]
    granted = [row for row in takeable if row.owner == me]
    others = [row for row in takeable if row.owner != me]
    random.shuffle(others)
    # What was granted is mine already: it counts whatever the target, or it would stay unread.
    room = max(0, target - len(mine) - len(granted))
    take = (*granted, *others[:room])
    # Asked of me between the grant and my TAKE: nothing of it runs here that would release it.
    release = tuple(row for row in live if row.checkpoint_owner == me and row.shard_id not in held)
    ask = None if take or others else _to_ask(live, len(mine), loads, is_expired, random)
    return Plan(take, ask, release)


def _is_takeable(row: Lease, me: str, is_expired: Callable[[Lease], bool]) -> bool:
    if row.owner is None:
        return True
    return is_expired(row) or (row.owner == me and row.checkpoint_owner is None)


def _awaited(row: Lease, me: str, is_expired: Callable[[Lease], bool]) -> bool:
    """Asked for by me, and still being finished by its holder."""
    return row.owner == me and row.checkpoint_owner is not None and not is_expired(row)


def _to_ask(
    live: list[Lease],
    mine: int,
    loads: Counter[str],
    is_expired: Callable[[Lease], bool],
    random: Random,
) -> Lease | None:
    """A lease of the most loaded owner, if moving one makes the loads more even; never a second
    one of an owner that is already giving one, and only of owners that answer."""
    giving = {row.checkpoint_owner for row in live}
    askable = [
        (loads[row.owner], row)
        for row in live
        if row.owner is not None
        and row.owner.startswith(OWNER_PREFIX)
        and row.owner not in giving
        and row.checkpoint_owner is None
        and not is_expired(row)
        and loads[row.owner] >= mine + 2
    ]
    most = max((load for load, _ in askable), default=0)
    candidates = [row for load, row in askable if load == most]
    return random.choice(candidates) if candidates else None
