"""Splits and merges that lead from any partition of the hash keys to an even one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_kinesis.hash_key import SPACE, HashKeyRange, even_ranges
from shardlane_lab.local_kinesis.scaling import Merge, Split, steps_to


def ranges(cuts: set[int]) -> list[HashKeyRange]:
    bounds = [0, *sorted(cuts), SPACE]
    return [HashKeyRange(low, high - 1) for low, high in pairwise(bounds)]


@given(st.sets(st.integers(1, SPACE - 1), max_size=12), st.integers(1, 12))
def test_the_steps_end_at_even_ranges(cuts: set[int], count: int) -> None:
    present = ranges(cuts)
    for step in steps_to(present, count):
        if isinstance(step, Split):
            present.remove(step.parent)
            assert step.parent.start < step.at <= step.parent.end
            present += step.children
        else:
            present.remove(step.low)
            present.remove(step.high)
            assert step.low.touches(step.high)
            present.append(step.child)
    assert sorted(present, key=lambda each: each.start) == even_ranges(count)


def test_doubling_and_halving_take_no_detour() -> None:
    assert all(isinstance(step, Split) for step in steps_to(even_ranges(4), 8))
    assert len(steps_to(even_ranges(4), 8)) == 4
    assert all(isinstance(step, Merge) for step in steps_to(even_ranges(8), 4))
    assert len(steps_to(even_ranges(8), 4)) == 4
    assert steps_to(even_ranges(5), 5) == []


@given(st.integers(1, 1000))
def test_even_ranges_cover_the_space_and_differ_by_one(count: int) -> None:
    parts = even_ranges(count)
    sizes = [part.end - part.start + 1 for part in parts]
    assert sum(sizes) == SPACE
    assert max(sizes) - min(sizes) <= 1
