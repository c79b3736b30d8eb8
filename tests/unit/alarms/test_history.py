from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.alarms.history import AlarmRule, State, history
from shardlane_lab.alarms.template import WatchedMetric
from shardlane_lab.metric import Datum, dimensions

AT_LEAST, MORE, LESS = (
    "GreaterThanOrEqualToThreshold",
    "GreaterThanThreshold",
    "LessThanThreshold",
)
LETTERS = {State.OK: "o", State.ALARM: "A", State.INSUFFICIENT_DATA: "?"}


def states(values: str, **rule: Any) -> str:
    """``values``: a digit for each period, ``-`` without data."""
    numbers = [None if each == "-" else float(each) for each in values]
    chosen: dict[str, Any] = {"comparison": AT_LEAST, "threshold": 1} | rule
    return "".join(LETTERS[state] for state in history(AlarmRule(**chosen), numbers))


@pytest.mark.parametrize(
    ("values", "rule", "expected"),
    [
        ("0110", {}, "oAAo"),
        ("0101101", {"breaching": 3, "of_last": 5}, "ooooAAA"),
        ("0110000", {"breaching": 3, "of_last": 5}, "ooooooo"),
        ("1111000", {"breaching": 3, "of_last": 5}, "ooAAAAo"),
        ("12", {"comparison": MORE}, "oA"),
        ("10", {"comparison": LESS}, "oA"),
        ("1-0-", {"missing": "notBreaching"}, "Aooo"),
        ("1--1", {"missing": "breaching"}, "AAAA"),
        ("-1---0-", {"missing": "ignore"}, "?AAAAoo"),
        ("-1-0-", {"missing": "missing"}, "?A?o?"),
        ("1-1-1", {"missing": "missing", "breaching": 2, "of_last": 3}, "ooAoA"),
        ("22---", {"comparison": LESS, "missing": "breaching", "breaching": 3, "of_last": 3},
         "ooooA"),
    ],
)  # fmt: skip
def test_the_state_after_each_period(values: str, rule: dict[str, Any], expected: str) -> None:
    assert states(values, **rule) == expected


@pytest.mark.parametrize(
    ("rule", "refusal"),
    [
        ({"comparison": "Above"}, "comparison is 'Above'; allowed: GreaterThan"),
        ({"breaching": 3, "of_last": 2}, "breaching is 3 of 2; allowed: 1 to 2"),
        ({"breaching": 0}, "breaching is 0 of 1; allowed: 1 to 1"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rule: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        states("1", **rule)


ALARM: dict[str, Any] = {
    "AlarmName": "billing-late",
    "Namespace": "AWS/Lambda",
    "MetricName": "IteratorAge",
    "Dimensions": [{"Name": "FunctionName", "Value": "billing"}],
    "Statistic": "Maximum",
    "Period": 60,
    "EvaluationPeriods": 2,
    "Threshold": 100,
    "ComparisonOperator": MORE,
    "TreatMissingData": "notBreaching",
}


def datum(value: float, minute: float, function: str = "billing") -> Datum:
    where = dimensions(FunctionName=function)
    return Datum("AWS/Lambda", "IteratorAge", where, value, 5_000 + minute * 60_000)


def test_an_alarm_of_a_template_sees_its_own_metric_by_the_minute() -> None:
    alarm = WatchedMetric.of(ALARM)
    data = [datum(101, 1.0), datum(7, 1.5), datum(150, 2), datum(999, 0, "other")]
    assert alarm.values(data, 5_000, 4) == [None, 101, 150, None]
    assert alarm.history(data, 5_000, 4) == [State.OK, State.OK, State.ALARM, State.OK]


def test_an_alarm_that_can_never_fire_is_refused() -> None:
    with pytest.raises(ValueError, match="billing-late has no dimensions, so it never sees"):
        WatchedMetric.of(ALARM | {"Dimensions": []})
    with pytest.raises(ValueError, match="allowed is one metric with a period of 60 s"):
        WatchedMetric.of(ALARM | {"Period": 300})
