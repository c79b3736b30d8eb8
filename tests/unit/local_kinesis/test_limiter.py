"""The limiters grant what they promise: never more, and at most one call less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_kinesis.limiter import LimiterShape, TokenBucket, Unlimited, limiter

EPOCH_MS = 1_780_000_000_000.0


def granted(shape: LimiterShape, gaps_ms: list[float], rate: float = 5) -> list[float]:
    """The times at which calls passed, of calls that are ``gaps_ms`` apart."""
    each = limiter(rate, rate, shape)
    now_ms, passed = EPOCH_MS, []
    for gap_ms in gaps_ms:
        now_ms += gap_ms
        if each.allows(now_ms, 1):
            each.charge(now_ms, 1)
            passed.append(now_ms)
    return passed


def test_bucket_gives_its_burst_then_its_rate() -> None:
    passed = granted(LimiterShape.TOKEN_BUCKET, [10.0] * 300)
    assert len([at for at in passed if at <= EPOCH_MS + 50]) == 5
    assert len(passed) == 5 + 14  # 3 s at 5 a second, less the refill under way


def test_bucket_grants_a_call_at_the_very_moment_its_turn_comes() -> None:
    assert len(granted(LimiterShape.TOKEN_BUCKET, [200.0] * 1000)) == 1000


def test_bucket_lets_an_oversized_amount_pass_when_full_and_then_pays_for_it() -> None:
    bucket = TokenBucket(rate_per_s=100, burst=100)
    assert bucket.allows(EPOCH_MS, 1000)
    bucket.charge(EPOCH_MS, 1000)
    assert bucket.ready_ms(EPOCH_MS, 1) == pytest.approx(EPOCH_MS + 9_010)
    assert not bucket.allows(EPOCH_MS + 9_000, 1)
    assert bucket.allows(EPOCH_MS + 9_011, 1)


def test_a_clock_that_goes_back_refills_nothing() -> None:
    bucket = TokenBucket(5, 5)
    bucket.charge(EPOCH_MS, 5)
    assert not bucket.allows(EPOCH_MS - 10_000, 1)
    assert not bucket.allows(EPOCH_MS, 1)


@given(st.lists(st.floats(0, 700), min_size=1, max_size=200))
def test_sliding_window_never_exceeds_its_count_in_any_second(gaps_ms: list[float]) -> None:
    passed = granted(LimiterShape.SLIDING_WINDOW, gaps_ms)
    for at in passed:
        assert len([each for each in passed if at - 1000 < each <= at]) <= 5


@given(st.lists(st.floats(0, 700), min_size=1, max_size=200))
def test_fixed_window_never_exceeds_its_count_in_a_window(gaps_ms: list[float]) -> None:
    passed = granted(LimiterShape.FIXED_WINDOW, gaps_ms)
    windows = [at // 1000 for at in passed]
    assert all(windows.count(window) <= 5 for window in windows)


@given(st.lists(st.floats(0, 700), min_size=1, max_size=200))
def test_bucket_never_exceeds_burst_and_rate_over_any_span(gaps_ms: list[float]) -> None:
    passed = granted(LimiterShape.TOKEN_BUCKET, gaps_ms)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            span_s = (passed[last] - passed[first]) / 1000
            assert last - first + 1 <= 5 + 5 * span_s + 1e-3


@pytest.mark.parametrize("shape", LimiterShape)
@given(st.lists(st.floats(0, 700), min_size=1, max_size=60))
def test_ready_is_when_the_next_call_passes(shape: LimiterShape, gaps_ms: list[float]) -> None:
    each, now_ms = limiter(5, 5, shape), EPOCH_MS
    for gap_ms in gaps_ms:
        now_ms += gap_ms
        if each.allows(now_ms, 1):
            each.charge(now_ms, 1)
    ready_ms = each.ready_ms(now_ms, 1)
    if ready_ms > now_ms + 1:
        assert not each.allows(ready_ms - 0.5, 1)
    assert each.allows(ready_ms + 0.001, 1)


def test_a_limit_that_is_off_lets_everything_pass() -> None:
    off = limiter(None)
    assert isinstance(off, Unlimited)
    off.charge(EPOCH_MS, 1e12)
    assert off.allows(EPOCH_MS, 1e12)
    assert off.ready_ms(EPOCH_MS, 1) == EPOCH_MS
