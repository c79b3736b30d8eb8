from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane import Backoff, SettingsError


def test_grows_and_is_capped() -> None:
    backoff = Backoff(first_ms=100, factor=3, most_ms=1_000)
    assert [backoff.bound_ms(failures) for failures in (1, 2, 3, 4, 5_000)] == [
        100,
        300,
        900,
        1_000,
        1_000,
    ]


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_wait_lies_within_its_bound(failures: int, draw: float) -> None:
    backoff = Backoff()
    assert 0 <= backoff.wait_ms(failures, draw) <= backoff.bound_ms(failures) <= backoff.most_ms


@pytest.mark.parametrize(
    "wrong", [{"first_ms": -1}, {"first_ms": 10, "most_ms": 5}, {"factor": 0.5}]
)
def test_refuses_what_makes_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="allowed is"):
        Backoff(**wrong)
