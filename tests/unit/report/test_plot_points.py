"""What is drawn of many records, and on which axes."""

from __future__ import annotations

import pytest

from shardlane_lab.report.plot.ecdf import POINTS, curve_points
from shardlane_lab.report.plot.over_time import MOST_DOTS, thinned
from shardlane_lab.report.plot.scale import latency_span, place_of, tick_text


def test_a_curve_of_few_records_has_them_all() -> None:
    assert curve_points([10.0, 20.0, 30.0, 40.0]) == [
        (10.0, 12.5),
        (20.0, 37.5),
        (30.0, 62.5),
        (40.0, 87.5),
    ]
    assert curve_points([7.0]) == [(7.0, 50.0)]


def test_a_curve_of_many_records_keeps_both_ends_and_only_real_values() -> None:
    values = [float(number) ** 1.5 for number in range(1, 100_001)]
    points = curve_points(values)
    assert len(points) <= POINTS
    assert points[0][0] == values[0]
    assert points[-1][0] == values[-1]
    for latency_ms, percent in points:
        assert latency_ms == values[round(percent / 100 * len(values) + 0.5) - 1]


def test_thinning_keeps_the_slowest_and_is_always_the_same() -> None:
    dots = [(float(number), float(number * 7919 % 20_011)) for number in range(20_000)]
    found = thinned(dots)
    assert len(found) == MOST_DOTS
    slowest = sorted(dots, key=lambda dot: dot[1])[-200:]
    assert set(slowest) <= set(found) <= set(dots)
    assert found == thinned(list(dots))


def test_few_dots_are_all_drawn() -> None:
    dots = [(float(number), 1.0) for number in range(MOST_DOTS)]
    assert thinned(dots) == dots


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (1.0, 1000.0)),
        ([13.7, 119.0], (10.0, 200.0)),
        ([20.0, 500.0], (20.0, 500.0)),
        ([-3.0, 0.0, 9.0], (0.1, 10.0)),
    ],
)
def test_an_axis_ends_at_round_values(values: list[float], expected: tuple[float, float]) -> None:
    assert latency_span(values) == pytest.approx(expected)


def test_one_value_alone_still_spans_an_axis() -> None:
    low, high = latency_span([100.0])
    assert low < high


def test_percentiles_are_spread_evenly_to_both_sides_of_the_median() -> None:
    assert place_of(50) == 0
    assert place_of(99) == pytest.approx(-place_of(1))
    assert [tick_text(value) for value in (0.1, 10, 1000, 10_000)] == [
        "0.1 ms",
        "10 ms",
        "1 s",
        "10 s",
    ]
