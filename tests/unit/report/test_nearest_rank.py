"""Percentiles by nearest rank, and the interval of a median."""

from __future__ import annotations

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.percentile import distribution, median_interval, percentile

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(5, 15), (30, 20), (40, 20), (50, 35), (90, 50), (100, 50)],
)
def test_the_textbook_example(percent: float, expected: float) -> None:
    assert percentile([15, 20, 35, 40, 50], percent) == expected


@pytest.mark.parametrize(("percent", "rank"), [(99.9, 999), (99, 990), (0.1, 1), (0.11, 2)])
def test_the_rank_is_exact_in_decimals(percent: float, rank: int) -> None:
    assert percentile(range(1, 1001), percent) == rank


@given(values, st.floats(0.001, 100))
def test_it_is_the_smallest_value_that_enough_do_not_exceed(
    found: list[float], percent: float
) -> None:
    ordered = sorted(found)
    result = percentile(ordered, percent)
    at_most = sum(value <= result for value in ordered)
    below = sum(value < result for value in ordered)
    assert at_most * 100 >= percent * len(ordered) * (1 - 1e-12)
    assert below * 100 < percent * len(ordered) * (1 + 1e-12)


@pytest.mark.parametrize("percent", [0, -1, 100.1])
def test_a_percent_out_of_range_is_named(percent: float) -> None:
    with pytest.raises(ValueError, match=f"percent is {percent}; it must be over 0"):
        percentile([1.0], percent)


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)
    assert distribution([]) is None


def test_a_distribution_counts_what_it_is_of() -> None:
    found = distribution([3.0, 1.0, 2.0] * 100)
    assert found is not None
    assert (found.count, found.minimum, found.p50, found.p90, found.maximum) == (300, 1, 2, 3, 3)


def test_the_interval_of_a_median_holds_it_about_as_often_as_it_says() -> None:
    rng = random.Random(7)
    true_median = median(rng.expovariate(1) for _ in range(200_001))
    hits = 0
    for _ in range(1000):
        low, high = median_interval(sorted(rng.expovariate(1) for _ in range(150)))
        hits += low <= true_median <= high
    assert 930 <= hits <= 985


def test_few_values_give_their_whole_range() -> None:
    assert median_interval([1.0, 2.0, 9.0]) == (1.0, 9.0)
    assert median_interval([4.0]) == (4.0, 4.0)
