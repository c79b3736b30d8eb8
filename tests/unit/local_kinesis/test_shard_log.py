"""The log of one shard: order, visibility, positions and trimming."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_kinesis.hash_key import SPACE, HashKeyRange
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.shard import Shard

EPOCH_MS = 1_780_000_000_000.0


def new_shard() -> Shard:
    return Shard(0, HashKeyRange(0, SPACE - 1), int(EPOCH_MS), Limits(), Random(1))


def write(shard: Shard, now_ms: float, skew_ms: float = 0, visibility_ms: float = 0) -> str:
    record = shard.append("k", b"123456789", 10, now_ms, skew_ms, visibility_ms)
    return record.sequence_number


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 200)), min_size=1, max_size=50))
def test_a_record_is_not_visible_before_itself_nor_before_an_earlier_one(
    writes: list[tuple[float, float]],
) -> None:
    shard, now_ms = new_shard(), EPOCH_MS
    own_ms = []
    for gap_ms, visibility_ms in writes:
        now_ms += gap_ms
        write(shard, now_ms, visibility_ms=visibility_ms)
        own_ms.append(now_ms + visibility_ms)
    for at_ms in (*own_ms, now_ms, now_ms + 100):
        seen = len(shard.visible(0, at_ms, 10_000, 10**9))
        assert max(own_ms[:seen], default=0) <= at_ms
        assert seen == len(own_ms) or max(own_ms[: seen + 1]) > at_ms


def test_a_clock_that_goes_back_does_not_reorder_the_log() -> None:
    shard = new_shard()
    write(shard, EPOCH_MS + 100)
    write(shard, EPOCH_MS)
    first, second = shard.visible(0, EPOCH_MS + 100, 10, 10**9)
    assert first.written_ms == second.written_ms == EPOCH_MS + 100


def test_a_time_is_found_in_stamps_that_go_back() -> None:
    shard = new_shard()
    for number, skew_ms in enumerate((0, 500, -500, 0)):
        write(shard, EPOCH_MS + number, skew_ms=skew_ms)
    assert shard.index_at_time(EPOCH_MS + 100) == 1  # the first that is stamped so late
    assert shard.index_at_time(EPOCH_MS) == 0


@pytest.mark.parametrize(("cap", "expected"), [(10**9, 5), (35, 3), (30, 3), (10, 1), (1, 1)])
def test_an_answer_is_cut_to_its_bytes_but_has_at_least_one_record(cap: int, expected: int) -> None:
    shard = new_shard()
    for _ in range(6):
        write(shard, EPOCH_MS)
    assert len(shard.visible(1, EPOCH_MS, 10_000, cap)) == expected


def test_trimming_keeps_positions_and_counts_what_went() -> None:
    shard = new_shard()
    numbers = [write(shard, EPOCH_MS + number) for number in range(10_000)]
    assert shard.trim(EPOCH_MS + 9_990) == 9_990 * 10
    assert shard.trim(EPOCH_MS + 9_990) == 0
    assert (shard.first_index, shard.end_index) == (9_990, 10_000)
    assert shard.held_bytes == 100
    assert shard.index_of(numbers[5], after=False) == 9_990  # trimmed: the oldest there is
    assert shard.index_of(numbers[9_995], after=True) == 9_996
    assert shard.record(9_995).sequence_number == numbers[9_995]
    assert len(shard.visible(0, EPOCH_MS + 10**6, 10_000, 10**9)) == 10


def test_a_shard_that_is_trimmed_empty_goes_on() -> None:
    shard = new_shard()
    write(shard, EPOCH_MS)
    assert shard.trim(EPOCH_MS + 1) == 10
    assert shard.first_index == shard.end_index == 1
    number = write(shard, EPOCH_MS + 2)
    assert shard.index_of(number, after=False) == 1


def test_there_is_a_free_number_between_any_two_records() -> None:
    shard = new_shard()
    numbers = [int(write(shard, EPOCH_MS)) for _ in range(500)]
    for index in range(1, 500):
        between = int(shard.position_number(index))
        assert numbers[index - 1] < between < numbers[index]
        text = str(between)
        assert shard.index_of(text, after=True) == shard.index_of(text, after=False) == index
