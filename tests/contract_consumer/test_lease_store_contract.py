"""The verbs of the lease protocol, condition by condition, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from shardlane.consumer.checkpoint import ENDED, HORIZON, Checkpoint
from shardlane.consumer.lease import RENEWAL, Change, Lease
from shardlane.consumer.lease_store import Answer, Done, LeaseTable, Refused
from tests.contract_consumer.lease_tables import (
    KINDS,
    ME,
    OTHER,
    STREAM,
    LeaseTables,
    put,
    row,
)

T = TypeVar("T")

FREE = Lease(shard_id="s", counter=4)
MINE = Lease(shard_id="s", counter=4, owner=ME)
ASKED_FOR = Lease(shard_id="s", counter=4, owner=OTHER, checkpoint_owner=ME)

Act = Callable[[LeaseTable], Awaitable[Answer]]


class Leases:
    """One kind of store."""

    def __init__(self, kind: str, tables: LeaseTables) -> None:
        self._kind = kind
        self._tables = tables

    def on(self, before: Lease | None, act: Act) -> tuple[Answer, Lease | None]:
        """The answer of ``act`` on a table that holds ``before``, and the row after it."""

        async def run(leases: LeaseTable) -> tuple[Answer, Lease | None]:
            if before is not None:
                await put(leases, before)
            return await act(leases), await row(leases)

        return self.run(run)

    def refuse(self, before: Lease | None, act: Act) -> None:
        """Refused with the row as it is, and nothing has changed."""
        answer, after = self.on(before, act)
        assert answer == Refused(before)
        assert after == before

    def run(self, act: Callable[[LeaseTable], Awaitable[T]]) -> T:
        async def on_empty() -> T:
            return await act(await self._tables.empty(self._kind))

        return asyncio.run(on_empty())


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tables: LeaseTables) -> Leases:
    return Leases(str(request.param), tables)


def write(change: Change, counter: int = 4) -> Act:
    return lambda leases: leases.write("s", counter, ME, change)


def test_create_writes_every_field_of_a_new_lease(store: Leases) -> None:
    lease = Lease(
        shard_id="s",
        checkpoint=Checkpoint("12", -1),
        parents=frozenset({"p", "q"}),
        hash_range=("0", "340282366920938463463374607431768211455"),
        stream_created_ms=STREAM.created_ms,
        start_ms=1_780_000_000_123,
    )
    answer, after = store.on(None, lambda leases: leases.create(lease))
    assert answer == Done(lease)
    assert after == lease


def test_create_leaves_an_existing_lease_alone(store: Leases) -> None:
    store.refuse(MINE, lambda leases: leases.create(Lease(shard_id="s")))


@pytest.mark.parametrize("before", [MINE, ASKED_FOR], ids=["owner", "handing over"])
def test_a_renewal_moves_the_counter_and_nothing_else(store: Leases, before: Lease) -> None:
    answer, after = store.on(before, write(RENEWAL))
    assert answer == Done(replace(before, counter=5))
    assert after == replace(before, counter=5)


def test_a_checkpoint_is_written_with_the_renewal(store: Leases) -> None:
    before = replace(MINE, switches=3)
    _, after = store.on(before, write(Change(checkpoint=Checkpoint("4" * 56, 7))))
    assert after == replace(MINE, counter=5, checkpoint=Checkpoint("4" * 56, 7), switches=0)


def test_a_seek_is_written_with_its_time(store: Leases) -> None:
    change = Change(checkpoint=Checkpoint("AT_TIMESTAMP"), start_ms=77)
    _, after = store.on(replace(MINE, start_ms=5), write(change))
    assert after == replace(MINE, counter=5, checkpoint=Checkpoint("AT_TIMESTAMP"), start_ms=77)


def test_the_end_is_written_with_the_children_and_frees_the_lease(store: Leases) -> None:
    change = Change(checkpoint=ENDED, children=frozenset({"c", "d"}), give_up=True)
    _, after = store.on(MINE, write(change))
    assert after == Lease(shard_id="s", counter=5, checkpoint=ENDED, children=frozenset({"c", "d"}))


def test_a_release_frees_the_lease(store: Leases) -> None:
    _, after = store.on(MINE, write(Change(checkpoint=Checkpoint("9"), give_up=True)))
    assert after == Lease(shard_id="s", counter=5, checkpoint=Checkpoint("9"))


def test_a_release_after_a_hand_over_leaves_it_to_who_asked(store: Leases) -> None:
    _, after = store.on(ASKED_FOR, write(Change(give_up=True, handing_over=True)))
    assert after == Lease(shard_id="s", counter=5, owner=OTHER)


@pytest.mark.parametrize("counter", [3, 5])
@pytest.mark.parametrize("before", [MINE, ASKED_FOR], ids=["owner", "handing over"])
def test_write_needs_the_counter(store: Leases, before: Lease, counter: int) -> None:
    store.refuse(before, write(RENEWAL, counter))


@pytest.mark.parametrize(
    "before",
    [FREE, replace(MINE, owner=OTHER), replace(MINE, checkpoint_owner=OTHER)],
    ids=["free", "another's", "asked for by me, not yet released"],
)
def test_write_needs_to_hold_the_lease(store: Leases, before: Lease) -> None:
    store.refuse(before, write(RENEWAL))
    store.refuse(before, write(Change(give_up=True)))


def test_a_write_waits_for_who_still_finishes(store: Leases) -> None:
    store.refuse(replace(MINE, checkpoint_owner=OTHER), write(RENEWAL))


def test_a_write_needs_the_name_of_who_finishes(store: Leases) -> None:
    third = "shardlane/host/3/c"
    store.refuse(replace(MINE, owner=OTHER, checkpoint_owner=third), write(RENEWAL))
    done, _ = store.on(ASKED_FOR, write(RENEWAL))
    assert isinstance(done, Done)


def test_write_of_a_row_that_is_gone_says_so(store: Leases) -> None:
    store.refuse(None, write(RENEWAL))


def test_a_release_that_does_not_know_of_a_hand_over_is_refused(store: Leases) -> None:
    """It would remove the name of who asked, and nobody would be left."""
    store.refuse(ASKED_FOR, write(Change(give_up=True)))
    store.refuse(MINE, write(Change(give_up=True, handing_over=True)))


def take(seen: Lease, start_ms: int | None = None) -> Act:
    return lambda leases: leases.take(seen, ME, start_ms)


@pytest.mark.parametrize(
    "before",
    [FREE, replace(MINE, owner=OTHER), MINE, ASKED_FOR],
    ids=["free", "expired", "granted", "in a hand-over"],
)
def test_take_moves_owner_and_counter_and_ends_a_hand_over(store: Leases, before: Lease) -> None:
    answer, after = store.on(before, take(before))
    switches = int(before.owner not in (None, ME))
    expected = replace(
        before,
        owner=ME,
        checkpoint_owner=None,
        counter=5,
        switches=switches,
        stream_created_ms=STREAM.created_ms,
    )
    assert answer == Done(expected)
    assert after == expected


def test_take_keeps_the_checkpoint_and_all_else(store: Leases) -> None:
    before = Lease(
        shard_id="s",
        counter=4,
        checkpoint=Checkpoint("12", 3),
        parents=frozenset({"p"}),
        hash_range=("0", "9"),
        stream_created_ms=STREAM.created_ms,
    )
    _, after = store.on(before, take(before))
    assert after == replace(before, counter=5, owner=ME)


def test_take_gives_a_start_time_only_to_a_row_that_has_none(store: Leases) -> None:
    before = replace(FREE, checkpoint=Checkpoint("LATEST"))
    _, first = store.on(before, take(before, 70))
    assert first is not None
    assert first.start_ms == 70
    _, second = store.on(replace(before, start_ms=5), take(before, 70))
    assert second is not None
    assert second.start_ms == 5


@pytest.mark.parametrize("counter", [3, 5])
def test_take_needs_the_counter_that_was_seen(store: Leases, counter: int) -> None:
    store.refuse(FREE, take(replace(FREE, counter=counter)))


@pytest.mark.parametrize(
    ("before", "seen"),
    [(MINE, FREE), (FREE, MINE), (replace(MINE, owner=OTHER), MINE)],
    ids=["free then", "released since", "another since"],
)
def test_take_needs_the_owner_that_was_seen(store: Leases, before: Lease, seen: Lease) -> None:
    store.refuse(before, take(seen))


def test_a_take_of_what_was_renewed_since_is_refused(store: Leases) -> None:
    before = replace(MINE, owner=OTHER)
    store.refuse(before, take(replace(before, counter=3)))


def test_a_take_of_what_was_asked_for_since_is_refused(store: Leases) -> None:
    """A hand-over does not move the counter; the owner that was seen is not the owner now."""
    asked = replace(MINE, owner="shardlane/host/3/c", checkpoint_owner=OTHER)
    store.refuse(asked, take(replace(MINE, owner=OTHER)))


def test_a_hand_over_names_both_and_leaves_the_counter(store: Leases) -> None:
    before = replace(MINE, owner=OTHER)
    answer, after = store.on(before, lambda leases: leases.hand_off("s", OTHER, ME))
    expected = replace(before, owner=ME, checkpoint_owner=OTHER)
    assert answer == Done(expected)
    assert after == expected


@pytest.mark.parametrize(
    "before",
    [
        FREE,
        replace(MINE, owner="shardlane/host/3/c"),
        replace(MINE, owner=OTHER, checkpoint_owner=ME),
    ],
    ids=["free", "owned by another", "in a hand-over"],
)
def test_a_hand_over_needs_that_owner_and_no_other_hand_over(store: Leases, before: Lease) -> None:
    store.refuse(before, lambda leases: leases.hand_off("s", OTHER, ME))


def test_a_hand_over_of_what_another_took_since_is_refused(store: Leases) -> None:
    taken = replace(MINE, owner="shardlane/host/3/c")
    store.refuse(taken, lambda leases: leases.hand_off("s", OTHER, ME))


def test_a_second_hand_over_is_refused(store: Leases) -> None:
    asked = replace(MINE, owner=OTHER, checkpoint_owner="shardlane/host/3/c")
    store.refuse(asked, lambda leases: leases.hand_off("s", OTHER, ME))


def test_delete_needs_the_counter(store: Leases) -> None:
    ended = replace(FREE, checkpoint=ENDED)
    store.refuse(ended, lambda leases: leases.delete("s", 3))
    answer, after = store.on(ended, lambda leases: leases.delete("s", 4))
    assert answer == Done(ended)
    assert after is None


def test_delete_of_a_row_that_is_gone_says_so(store: Leases) -> None:
    store.refuse(None, lambda leases: leases.delete("s", 0))


def test_a_scan_shows_every_lease_once(store: Leases) -> None:
    async def scan(leases: LeaseTable) -> list[str]:
        for number in range(30):
            await put(leases, Lease(shard_id=f"s{number}"))
        rows = await leases.scan()
        assert isinstance(rows, list)
        return [each.shard_id for each in rows]

    assert sorted(store.run(scan)) == sorted(f"s{number}" for number in range(30))


def test_of_two_takers_one_wins(store: Leases) -> None:
    async def race(leases: LeaseTable) -> list[Answer]:
        await put(leases, FREE)
        return [await leases.take(FREE, me, None) for me in (ME, OTHER)]

    first, second = store.run(race)
    assert isinstance(first, Done)
    assert isinstance(second, Refused)
    assert second.row == first.row


def test_an_older_checkpoint_cannot_overwrite_a_newer_one(store: Leases) -> None:
    """A write that comes late expects a counter that has moved on."""

    async def late_write(leases: LeaseTable) -> Lease | None:
        await put(leases, MINE)
        await leases.write("s", 4, ME, Change(checkpoint=Checkpoint("9")))
        late = await leases.write("s", 4, ME, Change(checkpoint=Checkpoint("5")))
        assert isinstance(late, Refused)
        return await row(leases)

    after = store.run(late_write)
    assert after is not None
    assert after.checkpoint == Checkpoint("9")
    assert HORIZON.order < after.checkpoint.order
