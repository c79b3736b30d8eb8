"""The planner: even loads, nothing taken that lives, one hand-over at a time."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from shardlane.consumer.checkpoint import ENDED
from shardlane.consumer.lease import Change, Lease, handed_off, taken, written
from shardlane.consumer.lease_plan import Plan, plan

A, B, C = (f"shardlane/host/{n}/x" for n in (1, 2, 3))
GIVEN_UP = Change(give_up=True, handing_over=True)


def lease(shard: int, owner: str | None = None, **more: object) -> Lease:
    return Lease(shard_id=f"s{shard}", owner=owner, **more)  # type: ignore[arg-type]


def planned(
    rows: list[Lease],
    me: str,
    *,
    expired: frozenset[str] = frozenset(),
    blocked: frozenset[str] = frozenset(),
    held: frozenset[str] | None = None,
    seed: int = 0,
) -> Plan:
    if held is None:
        held = frozenset(row.shard_id for row in rows if row.held_by(me))
    return plan(
        rows,
        me=me,
        held=held,
        is_expired=lambda row: row.shard_id in expired,
        is_startable=lambda row: row.shard_id not in blocked,
        random=Random(seed),
    )


def taken_ids(found: Plan) -> list[str]:
    return sorted(row.shard_id for row in found.take)


def test_a_lone_worker_takes_everything() -> None:
    assert taken_ids(planned([lease(n) for n in range(3)], A)) == ["s0", "s1", "s2"]


def test_a_second_worker_takes_half_of_what_is_free() -> None:
    rows = [lease(0, A), *(lease(n) for n in range(1, 4))]
    assert len(planned(rows, B).take) == 2


def test_nothing_is_taken_from_the_living() -> None:
    rows = [lease(0, A), lease(1, A)]
    assert planned(rows, A) == Plan()
    assert planned(rows, B).take == ()


def test_expired_leases_are_taken_and_their_owner_is_no_worker() -> None:
    rows = [lease(0, A), lease(1, A), lease(2, B)]
    assert taken_ids(planned(rows, B, expired=frozenset({"s0", "s1"}))) == ["s0", "s1"]


def test_a_child_of_an_unfinished_parent_is_not_taken() -> None:
    assert taken_ids(planned([lease(0), lease(1)], A, blocked=frozenset({"s1"}))) == ["s0"]


def test_finished_shards_are_nobodys_load() -> None:
    rows = [lease(0, checkpoint=ENDED), lease(1, A), lease(2)]
    assert taken_ids(planned(rows, A)) == ["s2"]


def test_a_granted_lease_is_taken_whatever_the_target() -> None:
    rows = [lease(0, A), lease(1, A), lease(2, B), lease(3, B)]
    assert taken_ids(planned(rows, A, held=frozenset({"s0"}))) == ["s1"]


def test_a_hand_over_under_way_is_waited_for() -> None:
    rows = [lease(0, B, checkpoint_owner=A), lease(1, A), lease(2, A)]
    assert planned(rows, B) == Plan()


def test_a_dead_holder_ends_the_wait() -> None:
    rows = [lease(0, B, checkpoint_owner=A)]
    assert taken_ids(planned(rows, B, expired=frozenset({"s0"}))) == ["s0"]


def test_a_grant_that_was_asked_for_before_it_was_taken_is_released() -> None:
    """A was granted s0 and B asked for it at once: nobody reads it, so nobody would drain it."""
    rows = [lease(0, B, checkpoint_owner=A), lease(1, A)]
    found = planned(rows, A, held=frozenset({"s1"}))
    assert [row.shard_id for row in found.release] == ["s0"]
    assert planned(rows, B).release == ()


def test_a_hand_over_that_is_being_drained_is_left_to_its_reader() -> None:
    rows = [lease(0, B, checkpoint_owner=A), lease(1, A)]
    assert planned(rows, A, held=frozenset({"s0", "s1"})).release == ()


def test_an_idle_worker_asks_the_most_loaded_for_one() -> None:
    rows = [lease(0, A), lease(1, A), lease(2, A), lease(3, B)]
    ask = planned(rows, C).ask
    assert ask is not None
    assert ask.owner == A


def test_an_owner_that_is_giving_is_not_asked_again() -> None:
    rows = [lease(0, B, checkpoint_owner=A), lease(1, A), lease(2, A), lease(3, A)]
    assert planned(rows, C).ask is None


def test_only_owners_that_answer_are_asked() -> None:
    rows = [lease(n, "kcl-worker-1") for n in range(4)]
    assert planned(rows, A).ask is None


def test_a_difference_of_one_is_even_enough() -> None:
    rows = [lease(0, A), lease(1, A), lease(2, B)]
    assert planned(rows, B).ask is None
    assert planned(rows, A).ask is None


def test_workers_do_not_all_run_for_the_same_free_lease() -> None:
    rows = [lease(0, A), lease(1, B), *(lease(n) for n in range(2, 20))]
    first = {planned(rows, C, seed=seed).take[0].shard_id for seed in range(20)}
    assert len(first) > 3


@given(
    shards=st.integers(1, 12),
    workers=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
@example(shards=12, workers=5, seed=0)  # a grant is asked for before it is taken
def test_workers_that_follow_their_plans_share_evenly_and_come_to_rest(
    shards: int, workers: int, seed: int
) -> None:
    """All of them plan on the same scan, then act in random order, under the store's rules."""
    random = Random(seed)
    names = [f"shardlane/host/{n}/x" for n in range(workers)]
    rows = {f"s{n}": lease(n) for n in range(shards)}
    held: dict[str, set[str]] = {name: set() for name in names}
    for _ in range(6 * shards + 6):
        seen = list(rows.values())
        plans = {
            name: planned(seen, name, held=frozenset(held[name]), seed=random.random().__hash__())
            for name in names
        }
        for name in random.sample(names, len(names)):
            for row in plans[name].take:
                if rows[row.shard_id] == row:
                    rows[row.shard_id] = taken(row, name, 0, None)
                    held[name].add(row.shard_id)
            ask = plans[name].ask
            if ask is not None and rows[ask.shard_id] == ask:
                rows[ask.shard_id] = handed_off(ask, name)
            for row in plans[name].release:
                if rows[row.shard_id] == row:
                    rows[row.shard_id] = written(row, GIVEN_UP)
        for name in names:
            for shard_id in sorted(held[name]):
                if rows[shard_id].checkpoint_owner == name:
                    rows[shard_id] = written(rows[shard_id], GIVEN_UP)
                    held[name].discard(shard_id)
    assert all(row.owner is not None for row in rows.values())
    loads = Counter({name: len(held[name]) for name in names})
    assert sum(loads.values()) == shards
    assert max(loads.values()) - min(loads.values()) <= 1
    assert all(planned(list(rows.values()), name) == Plan() for name in names)
