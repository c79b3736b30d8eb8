"""When a mapping is taken to stand still, and at what."""

from __future__ import annotations

import pytest

from shardlane.operations.activity import Series
from shardlane.operations.log_lines import Logged
from shardlane.operations.suspects import TOLERANCE_MS, standing_still, suspects
from tests.unit.shardlane.operations.made import MINUTE_MS, NOW_MS, failing, series

ARRIVED_MS = NOW_MS - 20 * MINUTE_MS


def ages_of_a_record(minutes: int, *, measured_at_ms: int) -> Series:
    """What is measured of one record, each minute that many milliseconds after its start."""
    first_ms = NOW_MS - minutes * MINUTE_MS
    starts = range(first_ms, NOW_MS, MINUTE_MS)
    return series(*(start + measured_at_ms - ARRIVED_MS for start in starts))


@pytest.mark.parametrize("measured_at_ms", [0, 1_000, 31_700, 59_999])
def test_an_age_that_grows_with_the_clock_stands_and_bounds_the_arrival(
    measured_at_ms: int,
) -> None:
    window = standing_still(ages_of_a_record(8, measured_at_ms=measured_at_ms), NOW_MS)
    assert window is not None
    assert window.from_ms <= ARRIVED_MS <= window.to_ms
    assert window.to_ms - window.from_ms <= MINUTE_MS + 2 * TOLERANCE_MS
    assert window.since_ms == NOW_MS - 8 * MINUTE_MS


def test_measurements_at_several_times_of_the_minute_narrow_it() -> None:
    starts = [NOW_MS - n * MINUTE_MS for n in (5, 4, 3, 2, 1)]
    ages = series(
        *(
            start + at_ms - ARRIVED_MS
            for start, at_ms in zip(starts, (2_000, 58_000, 30_000, 15_000, 9_000), strict=True)
        )
    )
    window = standing_still(ages, NOW_MS)
    assert window is not None
    assert window.from_ms <= ARRIVED_MS <= window.to_ms
    assert window.to_ms - window.from_ms == 60_000 - 56_000 + 2 * TOLERANCE_MS


@pytest.mark.parametrize(
    "ages",
    [
        series(),
        series(600_000.0, 660_000.0, 720_000.0, 780_000.0),
        series(*[600_000.0] * 8),
        series(*(600_000.0 + 40_000 * n for n in range(8))),
        series(*(600_000.0 - 60_000 * n for n in range(8))),
        series(200.0, 900.0, 400.0, 1_100.0),
        series(*(600_000.0 + 60_000 * n for n in range(8)), last_ms=NOW_MS - 7 * MINUTE_MS),
    ],
    ids=[
        "nothing measured",
        "too few periods",
        "late by a constant",
        "falling behind, but moving",
        "catching up",
        "ages of seconds",
        "not measured any more",
    ],
)
def test_what_moves_does_not_stand(ages: Series) -> None:
    assert standing_still(ages, NOW_MS) is None


def test_it_stands_only_since_it_stopped_moving() -> None:
    moving = [1_000.0] * 5
    standing = [60_000.0 * n for n in range(1, 7)]
    window = standing_still(series(*moving, *standing), NOW_MS)
    assert window is not None
    # The last minute in which it moved is that in which the record arrived.
    assert window.since_ms == NOW_MS - 7 * MINUTE_MS


def test_a_record_that_failed_in_two_invocations_is_a_suspect() -> None:
    found = suspects(Logged(failing=(failing(invocations=2),)), (), NOW_MS)
    assert found.named == (failing(invocations=2),)
    assert found.window is None


def test_one_failure_is_none_unless_the_age_stands_too() -> None:
    once = Logged(failing=(failing(invocations=1),))
    assert suspects(once, (), NOW_MS).named == ()
    ages = ages_of_a_record(8, measured_at_ms=30_000)
    assert suspects(once, ages, NOW_MS).named == once.failing


def test_a_failure_of_long_ago_is_over() -> None:
    long_ago = failing(last_ms=NOW_MS - 6 * MINUTE_MS)
    assert suspects(Logged(failing=(long_ago,)), (), NOW_MS).named == ()


@pytest.mark.parametrize(("quiet_s", "suspected"), [(89, True), (91, False)], ids=str)
def test_a_record_without_a_new_failure_for_three_pauses_has_got_through(
    quiet_s: int, suspected: bool
) -> None:
    last = failing(last_ms=NOW_MS - quiet_s * 1000, longest_gap_ms=10_000)
    assert bool(suspects(Logged(failing=(last,)), (), NOW_MS).named) is suspected
