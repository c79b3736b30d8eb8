"""Sources: "CloudWatch statistics definitions", "Using math expressions"; CloudWatch User Guide."""

from __future__ import annotations

import pytest

from shardlane_lab.dashboard.drawn import drawn_series
from shardlane_lab.dashboard.expression import evaluate
from shardlane_lab.dashboard.quantity import tick_text
from shardlane_lab.dashboard.series import Metric, NotDrawnError
from shardlane_lab.dashboard.statistic import points
from shardlane_lab.metric import MinuteStatistic, dimensions
from tests.unit.dashboard.bodies import parsed, recorded, rows

TIMES = range(4)
BY_ID = {"a": {0: 1.0, 1: 2.0, 3: 4.0}, "b": {0: 10.0, 1: 0.0, 2: 30.0}}


def metric(stat: str, period_s: int = 60) -> Metric:
    return Metric(namespace="Own", name="Age", dimensions=(), stat=stat, period_s=period_s)


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("Sum", {0: 60.0, 2: 5.0}),
        ("SampleCount", {0: 3.0, 2: 1.0}),
        ("Average", {0: 20.0, 2: 5.0}),
        ("Minimum", {0: 10.0, 2: 5.0}),
        ("Maximum", {0: 30.0, 2: 5.0}),
        ("p50", {0: 20.0, 2: 5.0}),
        ("p99.9", {0: 30.0, 2: 5.0}),
        ("p0", {0: 10.0, 2: 5.0}),
    ],
)
def test_the_statistic_of_each_minute(stat: str, expected: dict[int, float]) -> None:
    assert points(metric(stat), rows("Age", {0: [30, 10, 20], 2: [5]})) == expected


def test_a_longer_period_takes_its_minutes_together() -> None:
    age = rows("Age", {0: [10, 20], 4: [60], 5: [1]})
    assert points(metric("Sum", 300), age) == {0: 90.0, 5: 1.0}
    assert points(metric("p50", 300), age) == {0: 20.0, 5: 1.0}
    assert points(metric("Maximum", 10), age) == {0: 20.0, 4: 60.0, 5: 1.0}


def test_a_percentile_weighs_thinned_minutes_by_what_they_stand_for() -> None:
    busy = rows("Age", {0: [float(value) for value in range(10_000)]})
    quiet = rows("Age", {1: [1e6] * 10})
    assert points(metric("p99", 120), [*busy, *quiet])[0] == pytest.approx(9_910, abs=25)
    assert points(metric("p99.95", 120), [*busy, *quiet])[0] == 1e6


@pytest.mark.parametrize("stat", ["tm99", "IQM", "PR(:300)", "p101"])
def test_an_unknown_statistic_is_named(stat: str) -> None:
    with pytest.raises(NotDrawnError, match="the statistic"):
        points(metric(stat), rows("Age", {0: [1]}))


def test_a_percentile_of_sums_alone_is_not_made_up() -> None:
    kept = MinuteStatistic("Own", "Age", dimensions(), 0, 30.0, 2, 10.0, 20.0)
    with pytest.raises(NotDrawnError, match="only the sums were kept"):
        points(metric("p50"), [kept])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", {0: 11.0, 1: 2.0}),
        ("a / b", {0: 0.1}),
        ("a * 100 / 2", {0: 50.0, 1: 100.0, 3: 200.0}),
        ("-a", {0: -1.0, 1: -2.0, 3: -4.0}),
        ("FILL(a, 0) - b", {0: -9.0, 1: 2.0, 2: -30.0}),
        ("FILL(a, REPEAT)", {0: 1.0, 1: 2.0, 2: 2.0, 3: 4.0}),
        ("SUM([a, b])", {0: 11.0, 1: 2.0, 2: 30.0, 3: 4.0}),
        ("MAX(METRICS())", {0: 10.0, 1: 2.0, 2: 30.0, 3: 4.0}),
        ('AVG(METRICS("a"))', {0: 1.0, 1: 2.0, 3: 4.0}),
        ("a / SUM(a)", {0: 1 / 7, 1: 2 / 7, 3: 4 / 7}),
        ("IF(a > 1, a, 0)", {0: 0.0, 1: 2.0, 3: 4.0}),
        ("CEIL(a / 3)", {0: 1.0, 1: 1.0, 3: 2.0}),
        ("7", dict.fromkeys(range(4), 7.0)),
    ],
)
def test_metric_math(text: str, expected: dict[int, float]) -> None:
    assert evaluate(text, BY_ID, TIMES) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    ["c", "a +", "[a, b]", "SEARCH('{Own}', 'Sum')", "ANOMALY_DETECTION_BAND(a)", "a if b else a"],
)
def test_what_is_not_understood_is_not_drawn(text: str) -> None:
    with pytest.raises(NotDrawnError):
        evaluate(text, BY_ID, TIMES)


def test_an_expression_without_data_stays_empty() -> None:
    metrics = [[{"expression": "FILL(m, 0)", "period": 60}], ["Own", "Nothing", {"id": "m"}]]
    drawn = drawn_series(parsed(metrics).series, recorded())
    assert [each.points for each in drawn] == [{}, {}]


def test_hidden_metrics_feed_expressions_alone() -> None:
    metrics = [
        [{"expression": "m * 2", "label": "twice"}],
        ["Own", "Age", {"id": "m", "visible": False, "stat": "Sum", "period": 60}],
    ]
    (twice,) = drawn_series(parsed(metrics, period=60).series, recorded(rows("Age", {1: [4]})))
    assert (twice.series.label, dict(twice.points)) == ("twice", {1: 8.0})


def test_dimensions_have_to_be_the_same_set() -> None:
    (series,) = parsed([["Own", "Age", {"period": 60}]]).series
    assert drawn_series([series], recorded(rows("Age", {0: [1]}, label="x")))[0].points == {}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (340, "Milliseconds", "340 ms"),
        (1250, "Milliseconds", "1.25 s"),
        (0, "Milliseconds", "0 ms"),
        (12_000, "Count", "12 k"),
        (2_500_000, "Bytes", "2.5 MB"),
        (3, "", "3"),
        (0.188, "", "0.188"),
        (97.5, "Percent", "97.5 %"),
    ],
)
def test_values_with_their_units(value: float, unit: str, text: str) -> None:
    assert tick_text(value, unit) == text
