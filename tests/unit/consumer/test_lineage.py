"""Parents before children, nothing started at LATEST that has a past, no row deleted too early."""

from __future__ import annotations

import pytest

from shardlane.consumer.checkpoint import ENDED, Checkpoint
from shardlane.consumer.lease import Lease
from shardlane.consumer.lineage import (
    Beginning,
    deletable,
    first_start_ms,
    is_startable,
    without_lease,
)
from shardlane.consumer.position import Position
from shardlane.consumer.shard import Shard, child_shard, listed_shard


def row(shard_id: str, *parents: str, ended: bool = False, at: str = "TRIM_HORIZON") -> Lease:
    checkpoint = ENDED if ended else Checkpoint(at)
    return Lease(shard_id=shard_id, parents=frozenset(parents), checkpoint=checkpoint)


def table(*rows: Lease) -> dict[str, Lease]:
    return {each.shard_id: each for each in rows}


def test_a_shard_without_parents_may_start() -> None:
    assert is_startable(row("p"), table(row("p")), None)


def test_a_merged_child_waits_for_both_parents() -> None:
    child = row("c", "a", "b")
    one = table(row("a", ended=True), row("b"), child)
    both = table(row("a", ended=True), row("b", ended=True), child)
    listed = {"a", "b", "c"}
    assert not is_startable(child, one, listed)
    assert is_startable(child, both, listed)


def test_a_trimmed_parent_is_a_finished_one() -> None:
    child = row("c", "p")
    assert is_startable(child, table(child), {"c"})


def test_a_parent_that_is_listed_without_a_row_is_not_finished() -> None:
    child = row("c", "p")
    assert not is_startable(child, table(child), {"c", "p"})


def test_without_a_listing_newer_than_the_row_nothing_is_said_about_a_missing_parent() -> None:
    child = row("c", "p")
    assert not is_startable(child, table(child), None)


def test_missing_leases_come_parents_first_and_once() -> None:
    shards = [
        Shard("c3", frozenset({"c1", "c2"})),
        Shard("c1", frozenset({"p"})),
        Shard("c2", frozenset({"p"})),
        Shard("p"),
        Shard("q"),
    ]
    assert [each.shard_id for each in without_lease(shards, {"q"})] == ["p", "c1", "c2", "c3"]


def test_a_new_lease_carries_where_it_starts() -> None:
    beginning = Beginning(Position.latest(), 123, stream_created_ms=9)
    shard = Shard("s", frozenset({"p"}), ("0", "7"))
    lease = beginning.lease(shard)
    assert (lease.checkpoint, lease.start_ms) == (Checkpoint("LATEST"), 123)
    assert lease.parents == frozenset({"p"})
    assert (lease.hash_range, lease.stream_created_ms) == (("0", "7"), 9)
    assert (lease.counter, lease.owner) == (0, None)
    assert beginning.from_horizon(shard).checkpoint == Checkpoint("TRIM_HORIZON")


def test_the_first_start_is_the_earliest_that_any_lease_tells() -> None:
    rows = [Lease(shard_id="a", start_ms=9), Lease(shard_id="b", start_ms=4), row("c")]
    assert first_start_ms(rows) == 4
    assert first_start_ms([row("c")]) is None


@pytest.mark.parametrize(
    ("child", "listed", "expected"),
    [
        (row("c", "p", at="5"), {"c"}, True),
        (row("c", "p", ended=True), {"c"}, True),
        (row("c", "p"), {"c"}, False),
        (row("c", "p", at="LATEST"), {"c"}, False),
        (row("c", "p", at="5"), {"c", "p"}, False),
    ],
    ids=["begun", "ended", "at the horizon", "at latest", "parent still listed"],
)
def test_a_parents_row_stays_until_its_children_have_begun(
    child: Lease, listed: set[str], expected: bool
) -> None:
    found = deletable(table(row("p", ended=True), child), listed)
    assert ("p" in [each.shard_id for each in found]) is expected


def test_an_unfinished_row_is_never_deleted() -> None:
    assert deletable(table(row("p", at="5")), set()) == []


def test_a_child_that_is_listed_but_has_no_row_yet_keeps_its_parents_row() -> None:
    parent = Lease(shard_id="p", checkpoint=ENDED, children=frozenset({"c"}))
    assert deletable(table(parent), {"c"}) == []
    assert deletable(table(parent), set()) == [parent]


def test_shards_are_read_from_both_of_the_services_shapes() -> None:
    keys = {"StartingHashKey": "0", "EndingHashKey": "7"}
    listed = {
        "ShardId": "c",
        "ParentShardId": "a",
        "AdjacentParentShardId": "b",
        "HashKeyRange": keys,
    }
    child = {"ShardId": "c", "ParentShards": ["a", "b"], "HashKeyRange": keys}
    assert listed_shard(listed) == child_shard(child)
    assert listed_shard(listed) == Shard("c", frozenset({"a", "b"}), ("0", "7"))
