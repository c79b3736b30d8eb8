from __future__ import annotations

import pytest

from shardlane.breaker import Breaker, most_failing_keys


@pytest.mark.parametrize(("keys", "most"), [(1, 5), (16, 5), (17, 5.1), (100, 30), (1_000, 300)])
def test_the_bound_is_a_share_of_the_keys_and_at_least_five(keys: int, most: float) -> None:
    assert most_failing_keys(keys) == pytest.approx(most)


def test_keys_count_once() -> None:
    breaker = Breaker(2)
    assert [breaker.admits(key) for key in "aabbaacab"] == [True] * 6 + [False] * 3


def test_none_may_be_admitted() -> None:
    assert not Breaker(0).admits("a")
