"""The pure parts between a shard and a batch: gathering, watermark, lineage, timing."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_lambda.batch import Gathering
from shardlane_lab.local_lambda.checkpoint import After, ShardEnd, Since
from shardlane_lab.local_lambda.kinesis_record import ENVELOPE_BYTES, Record, record_from
from shardlane_lab.local_lambda.mapping_config import MAX_EVENT_BYTES, MappingConfig
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.shard_lineage import (
    ShardInfo,
    passed_over,
    position,
    shard_info,
    startable,
)
from shardlane_lab.local_lambda.watermark import Watermark


def record(index: int, size: int = 1) -> Record:
    return Record(index, str(1000 + index), "key", b"x" * size, 0.0)


def gathering(**parameters: int) -> Gathering:
    return Gathering(MappingConfig(starting_position="LATEST", **parameters))  # type: ignore[arg-type]


def test_the_size_of_a_record_in_an_event() -> None:
    for size, encoded in ((0, 0), (1, 4), (3, 4), (4, 8)):
        assert record(0, size).event_bytes == ENVELOPE_BYTES + encoded


def test_a_window_counts_from_the_first_record_and_again_from_the_take() -> None:
    batch = gathering(maximum_batching_window_s=10, batch_size=2)
    assert batch.due_s() is None
    batch.add(record(0), 5.0)
    assert batch.due_s() == 15.0
    batch.add(record(1), 6.0)
    assert batch.due_s() == 5.0  # full: at once
    batch.add(record(2), 7.0)
    assert [each.index for each in batch.take(8.0).records] == [0, 1]
    assert batch.due_s() == 18.0


def test_a_batch_of_6_mb_is_full_before_its_number_of_records() -> None:
    batch = gathering(maximum_batching_window_s=10, batch_size=10_000)
    size = 1024 * 1024
    count = MAX_EVENT_BYTES // record(0, size).event_bytes
    for index in range(count + 1):
        assert not batch.full
        batch.add(record(index, size), 0.0)
    assert batch.full
    assert len(batch.take(0.0).records) == count
    assert not batch.full


def test_one_record_always_goes_however_large() -> None:
    batch = gathering()
    batch.add(record(0, 7_000_000), 0.0)
    batch.add(record(1), 0.0)
    assert [each.index for each in batch.take(0.0).records] == [0]


@given(
    st.lists(st.integers(0, 900_000), min_size=1, max_size=40),
    st.integers(1, 10),
)
def test_batches_keep_every_record_in_order_and_both_limits(
    sizes: list[int], batch_size: int
) -> None:
    batch = gathering(batch_size=batch_size)
    for index, size in enumerate(sizes):
        batch.add(record(index, size), 0.0)
    taken: list[int] = []
    while len(batch):
        records = batch.take(0.0).records
        assert 1 <= len(records) <= batch_size
        assert sum(each.event_bytes for each in records) <= MAX_EVENT_BYTES
        taken += [each.index for each in records]
    assert taken == list(range(len(sizes)))
    assert batch.due_s() is None


def test_the_watermark_never_passes_an_unfinished_record() -> None:
    for order in permutations(range(5)):
        mark = Watermark()
        for index in range(5):
            mark.register(index, str(index))
        finished: set[int] = set()
        for index in order:
            mark.settle([index])
            finished.add(index)
            prefix = next((i for i in range(5) if i not in finished), 5)
            assert mark.sequence_number == (str(prefix - 1) if prefix else None)
            assert mark.unsettled == 5 - len(finished)


def test_the_watermark_says_when_it_moved() -> None:
    mark = Watermark()
    for index in range(3):
        mark.register(index, str(index))
    assert not mark.settle([1])
    assert mark.settle([0])
    assert mark.sequence_number == "1"
    assert not mark.settle([])


def test_arrival_keeps_its_milliseconds() -> None:
    values = {"SequenceNumber": "1", "PartitionKey": "k", "Data": b""}
    for at_ms in range(1_780_000_000_000, 1_780_000_000_500):
        read = record_from(values | {"ApproximateArrivalTimestamp": at_ms / 1000.0}, 0)
        assert read.arrival_ms == at_ms


LATEST = MappingConfig(starting_position="LATEST")
PARENT = ShardInfo("p", (), closed=True)
OTHER = ShardInfo("o", (), closed=True)
CHILD = ShardInfo("c", ("p", "o"), closed=False)


def test_a_shard_is_read_from_its_listing() -> None:
    assert shard_info(
        {
            "ShardId": "c",
            "ParentShardId": "p",
            "AdjacentParentShardId": "o",
            "SequenceNumberRange": {"StartingSequenceNumber": "1", "EndingSequenceNumber": "2"},
        }
    ) == ShardInfo("c", ("p", "o"), closed=True)


def test_a_child_is_startable_when_all_its_parents_are_finished_or_gone() -> None:
    shards = [PARENT, OTHER, CHILD]
    assert startable(shards, (), ()) == [PARENT, OTHER]
    assert startable(shards, ("p",), ("o",)) == []
    assert startable(shards, ("p", "o"), ()) == [CHILD]
    assert startable([OTHER, CHILD], ("o",), ()) == [CHILD]
    assert startable([CHILD], (), ()) == [CHILD]
    assert startable(shards, ("p", "o"), ("c",)) == []


def test_only_a_first_start_at_latest_passes_closed_shards_over() -> None:
    shards = [PARENT, CHILD]
    assert passed_over(shards, {}, LATEST) == {"p"}
    assert passed_over(shards, {"c": Since(1.0)}, LATEST) == set()
    horizon = MappingConfig(starting_position="TRIM_HORIZON")
    assert passed_over(shards, {}, horizon) == set()


def test_where_a_shard_starts() -> None:
    assert position(CHILD, {}, LATEST) == {"Type": "LATEST"}
    assert position(CHILD, {"p": ShardEnd()}, LATEST) == {"Type": "TRIM_HORIZON"}
    assert position(CHILD, {"p": ShardEnd(), "c": After("7")}, LATEST) == {
        "Type": "AFTER_SEQUENCE_NUMBER",
        "SequenceNumber": "7",
    }
    assert position(CHILD, {"c": Since(1500.0)}, LATEST) == {
        "Type": "AT_TIMESTAMP",
        "Timestamp": 1.5,
    }
    at = MappingConfig(starting_position="AT_TIMESTAMP", starting_timestamp_s=9.5)
    assert position(CHILD, {}, at) == {"Type": "AT_TIMESTAMP", "Timestamp": 9.5}


@pytest.mark.parametrize("behind", [False, True])
def test_exact_timing_is_the_documented_rate(behind: bool) -> None:
    assert PollTiming.exact().next_s(behind, random.Random(0)) == (0.2 if behind else 1.0)
