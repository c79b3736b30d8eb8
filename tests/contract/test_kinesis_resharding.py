"""SplitShard, MergeShards and UpdateShardCount. API Reference pages are named per test."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from tests.contract.conftest import MakeService
from tests.contract.service import (
    SHARD_0,
    SHARD_1,
    STREAM,
    Refused,
    Service,
    create,
    data,
    iterator,
    put,
    read,
    shards,
)

MIDDLE = str(2**127)
SHARD_2, SHARD_3 = "shardId-000000000002", "shardId-000000000003"


def split(service: Service, shard: str = SHARD_0, at: str = MIDDLE) -> None:
    service.call("SplitShard", StreamName=STREAM, ShardToSplit=shard, NewStartingHashKey=at)


def merge(service: Service, shard: str, other: str) -> None:
    service.call("MergeShards", StreamName=STREAM, ShardToMerge=shard, AdjacentShardToMerge=other)


def scale(service: Service, count: int) -> dict[str, object]:
    return service.call(
        "UpdateShardCount",
        StreamName=STREAM,
        TargetShardCount=count,
        ScalingType="UNIFORM_SCALING",
    )


def open_ranges(service: Service) -> list[tuple[int, int]]:
    listed = shards(service, ShardFilter={"Type": "AT_LATEST"})
    keys = [shard["HashKeyRange"] for shard in listed]
    return sorted((int(each["StartingHashKey"]), int(each["EndingHashKey"])) for each in keys)


def test_a_split_closes_the_parent_and_opens_two_children(service: Service) -> None:
    """SplitShard; Shard: ParentShardId, HashKeyRange, SequenceNumberRange."""
    create(service)
    split(service)
    parent, low, high = shards(service)
    assert "EndingSequenceNumber" in parent["SequenceNumberRange"]
    assert low["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(2**127 - 1)}
    assert high["HashKeyRange"] == {"StartingHashKey": MIDDLE, "EndingHashKey": str(2**128 - 1)}
    for child in (low, high):
        assert child["ParentShardId"] == SHARD_0
        assert "AdjacentParentShardId" not in child
        assert "EndingSequenceNumber" not in child["SequenceNumberRange"]
        start = int(child["SequenceNumberRange"]["StartingSequenceNumber"])
        assert start > int(parent["SequenceNumberRange"]["StartingSequenceNumber"])


def test_a_childs_numbers_are_larger_than_its_parents(service: Service) -> None:
    create(service)
    before = put(service)["SequenceNumber"]
    split(service)
    assert int(put(service)["SequenceNumber"]) > int(before)


def test_a_merge_closes_both_parents_and_opens_one_child(service: Service) -> None:
    """MergeShards; Shard: ParentShardId, AdjacentParentShardId."""
    create(service, shards=2)
    merge(service, SHARD_1, SHARD_0)
    *parents, child = shards(service)
    assert all("EndingSequenceNumber" in each["SequenceNumberRange"] for each in parents)
    assert child["ParentShardId"] == SHARD_1
    assert child["AdjacentParentShardId"] == SHARD_0
    assert open_ranges(service) == [(0, 2**128 - 1)]


def test_only_adjacent_shards_merge(service: Service) -> None:
    """MergeShards: "Two shards are considered adjacent if the union of the hash key ranges … form
    a contiguous set with no gaps"."""
    create(service, shards=3)
    for shard, other in ((SHARD_0, SHARD_2), (SHARD_0, SHARD_0)):
        with pytest.raises(Refused, match=r"InvalidArgumentException.*adjacent"):
            merge(service, shard, other)


@pytest.mark.parametrize("at", ["0", "1", str(2**128 - 1), str(3 * 2**126)])
def test_a_split_point_lies_inside_the_shard(service: Service, at: str) -> None:
    """SplitShard: NewStartingHashKey "must be in the range of hash keys being mapped into the
    shard"."""
    create(service, shards=2 if at == str(3 * 2**126) else 1)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        split(service, at=at)


def test_a_closed_shard_is_not_split_or_merged_again(service: Service) -> None:
    create(service)
    split(service)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        split(service, at="1000")
    with pytest.raises(Refused, match="InvalidArgumentException"):
        merge(service, SHARD_0, SHARD_1)


def test_the_end_of_a_closed_shard_is_an_absent_iterator_and_its_children(
    service: Service,
) -> None:
    """GetRecords: NextShardIterator, "If set to null, the shard has been closed"; ChildShards."""
    create(service)
    for number in range(3):
        put(service, data=b"%d" % number)
    split(service)
    answer = read(service, iterator(service), Limit=2)
    assert data(answer["Records"]) == [b"0", b"1"]
    assert "ChildShards" not in answer
    last = read(service, answer["NextShardIterator"])
    assert data(last["Records"]) == [b"2"]
    assert "NextShardIterator" not in last
    assert last["MillisBehindLatest"] == 0
    children = last["ChildShards"]
    assert [child["ShardId"] for child in children] == [SHARD_1, SHARD_2]
    assert [child["ParentShards"] for child in children] == [[SHARD_0], [SHARD_0]]
    assert children[1]["HashKeyRange"]["StartingHashKey"] == MIDDLE


def test_both_parents_of_a_merge_name_the_same_child(service: Service) -> None:
    create(service, shards=2)
    merge(service, SHARD_0, SHARD_1)
    for parent in (SHARD_0, SHARD_1):
        (child,) = read(service, iterator(service, shard=parent))["ChildShards"]
        assert child["ShardId"] == SHARD_2
        assert child["ParentShards"] == [SHARD_0, SHARD_1]


def test_an_iterator_at_the_tip_of_a_shard_that_closes_finds_its_end(service: Service) -> None:
    create(service)
    tip = read(service, iterator(service, "LATEST"))["NextShardIterator"]
    split(service)
    answer = read(service, tip)
    assert answer["Records"] == []
    assert "NextShardIterator" not in answer
    assert len(answer["ChildShards"]) == 2


def test_new_records_go_to_the_children(service: Service) -> None:
    create(service)
    split(service)
    assert put(service, ExplicitHashKey="0")["ShardId"] == SHARD_1
    assert put(service, ExplicitHashKey=str(2**128 - 1))["ShardId"] == SHARD_2


def test_closed_parents_stay_listed_and_readable_until_retention_passes(
    service: Service,
) -> None:
    """ "Data Routing, Data Persistence, and Shard State after a Reshard", Developer Guide."""
    create(service)
    put(service, data=b"old")
    service.advance(3600)
    split(service)
    service.advance(23 * 3600 - 10)
    assert [shard["ShardId"] for shard in shards(service)] == [SHARD_0, SHARD_1, SHARD_2]
    assert data(read(service, iterator(service))["Records"]) == [b"old"]
    service.advance(3600 + 20)
    assert [shard["ShardId"] for shard in shards(service)] == [SHARD_1, SHARD_2]
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        iterator(service)


def test_a_stream_is_updating_and_writes_go_on(make_service: MakeService) -> None:
    """SplitShard: "Read and write operations continue to work while the stream is in the UPDATING
    state"."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(1)
    position = iterator(service, "LATEST")
    split(service)
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert summary["StreamStatus"] == "UPDATING"
    assert put(service, data=b"while updating")["ShardId"] == SHARD_0
    with pytest.raises(Refused, match="ResourceInUseException"):
        split(service)
    service.advance(1)
    assert put(service, ExplicitHashKey="0")["ShardId"] == SHARD_1
    answer = read(service, position)
    assert data(answer["Records"]) == [b"while updating"]
    assert len(answer["ChildShards"]) == 2


# --- UpdateShardCount ---------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (2, 3), (3, 2), (4, 2), (5, 7)])
def test_the_shard_count_is_updated_to_even_ranges(
    service: Service, before: int, after: int
) -> None:
    """UpdateShardCount: UNIFORM_SCALING "creates equal-size shards"."""
    create(service, shards=before)
    answer = scale(service, after)
    assert (answer["CurrentShardCount"], answer["TargetShardCount"]) == (before, after)
    ranges = open_ranges(service)
    assert len(ranges) == after
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 2**128 - 1
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(ranges))
    sizes = [high - low for low, high in ranges]
    assert max(sizes) - min(sizes) <= 1


def test_the_lineage_of_a_scaling_has_no_hole(service: Service) -> None:
    """Every shard but the first ones has its parents in the listing."""
    create(service, shards=2)
    scale(service, 3)
    listed = {shard["ShardId"]: shard for shard in shards(service)}
    for shard_id, shard in list(listed.items())[2:]:
        parents = [shard["ParentShardId"], shard.get("AdjacentParentShardId")]
        assert all(parent in listed for parent in parents if parent is not None), shard_id


@pytest.mark.parametrize(("before", "after"), [(2, 5), (5, 2)])
def test_one_scaling_is_at_most_double_and_at_least_half(
    service: Service, before: int, after: int
) -> None:
    """UpdateShardCount: "Scale up to more than double", "Scale down below half"."""
    create(service, shards=before)
    with pytest.raises(Refused, match=r"LimitExceededException.*current open shard count"):
        scale(service, after)


def test_a_stream_is_scaled_10_times_in_24_hours(service: Service) -> None:
    """UpdateShardCount: "Scale more than ten times per rolling 24-hour period per stream"."""
    create(service, shards=2)
    for number in range(10):
        scale(service, 3 if number % 2 == 0 else 2)
        service.advance(60)
    with pytest.raises(Refused, match=r"LimitExceededException.*24 hours"):
        scale(service, 3)
    service.advance(24 * 3600 - 599)
    scale(service, 3)
