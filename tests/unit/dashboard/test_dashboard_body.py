"""Source: "Dashboard body structure and syntax", CloudWatch API Reference."""

from __future__ import annotations

import pytest

from shardlane_lab.dashboard.series import Expression, Metric
from shardlane_lab.dashboard.widget import (
    AlarmWidget,
    MetricWidget,
    OtherWidget,
    Scale,
    TextWidget,
    parse_widgets,
)
from tests.unit.dashboard.bodies import ARN, alarm, body, metric_widget, parsed


def test_a_metric_has_its_dimensions_statistic_and_period() -> None:
    options = {"stat": "p99", "period": 60, "label": "slowest", "yAxis": "right", "id": "m1"}
    (series,) = parsed([["Own", "Age", "service", "s", "label", "x", options]]).series
    assert series.source == Metric(
        namespace="Own",
        name="Age",
        dimensions=(("label", "x"), ("service", "s")),
        stat="p99",
        period_s=60,
    )
    assert (series.label, series.axis, series.id, series.visible) == (
        "slowest",
        "right",
        "m1",
        True,
    )


def test_what_a_metric_leaves_out_the_widget_says_or_the_service_takes() -> None:
    (by_widget,) = parsed([["Own", "Age"]], stat="Sum", period=120).series
    (by_service,) = parsed([["Own", "Age"]]).series
    sources = [each.source for each in (by_widget, by_service)]
    assert [(each.stat, each.period_s) for each in sources if isinstance(each, Metric)] == [
        ("Sum", 120),
        ("Average", 300),
    ]
    assert by_widget.label == "Age"


def test_dots_stand_for_the_entry_before() -> None:
    metrics = [
        ["Own", "Age", "service", "s", "label", "x"],
        [".", ".", ".", ".", ".", "y"],
        ["...", "z", {"stat": "Sum"}],
        [".", "Count", "..."],
    ]
    found = [each.source for each in parsed(metrics).series]
    assert [(each.name, each.dimensions[0]) for each in found if isinstance(each, Metric)] == [
        ("Age", ("label", "x")),
        ("Age", ("label", "y")),
        ("Age", ("label", "z")),
        ("Count", ("label", "z")),
    ]


def test_an_expression_names_its_metrics_by_id() -> None:
    metrics = [
        [{"expression": "m1 / 2", "label": "half"}],
        ["Own", "A", {"id": "m1", "visible": False}],
    ]
    half, metric = parsed(metrics, period=60).series
    assert half.source == Expression(text="m1 / 2", period_s=60)
    assert (half.label, half.visible, metric.visible) == ("half", True, False)


def test_annotations_and_axes() -> None:
    widget = parsed(
        [["Own", "Age"]],
        annotations={
            "horizontal": [
                {"value": 100, "label": "late"},
                [{"value": 1, "label": "from"}, {"value": 2}],
                {"value": 7, "yAxis": "right"},
            ],
            "alarms": [ARN],
        },
        yAxis={"left": {"min": 0, "max": 9, "label": "ms"}},
        stacked=True,
        setPeriodToTimeRange=True,
    )
    assert [(line.value, line.label, line.axis) for line in widget.lines] == [
        (100.0, "late", "left"),
        (1.0, "from", "left"),
        (2.0, "", "left"),
        (7.0, "", "right"),
    ]
    assert widget.alarm_arns == (ARN,)
    assert widget.left == Scale(minimum=0, maximum=9, label="ms")
    assert widget.stacked
    assert widget.whole_range


def test_widgets_come_in_reading_order_and_of_every_kind() -> None:
    right = metric_widget([["Own", "A"]], title="right") | {"x": 12}
    below = {"type": "text", "y": 6, "properties": {"markdown": "# hello"}}
    widgets = parse_widgets(
        body(
            below,
            {"type": "alarm", "y": 7, "properties": {"title": "states", "alarms": [ARN]}},
            {"type": "log", "y": 8, "properties": {"query": "fields @message"}},
            right,
            metric_widget([["Own", "A"]], title="left"),
        )
    )
    assert [type(each) for each in widgets] == [
        MetricWidget,
        MetricWidget,
        TextWidget,
        AlarmWidget,
        OtherWidget,
    ]
    assert [each.title for each in widgets] == ["left", "right", "", "states", ""]


def test_a_body_that_is_no_json_says_so() -> None:
    with pytest.raises(ValueError, match="the dashboard's body is not JSON"):
        parse_widgets("{")


def test_an_alarms_rule_in_words() -> None:
    assert alarm().rule == ("Maximum > 100 in 2 of 3 periods of 60 s; no data counts as fine")
    once = alarm(EvaluationPeriods=1, DatapointsToAlarm=1, TreatMissingData="breaching")
    assert once.rule == "Maximum > 100 in one period of 60 s; no data counts as breaching"


def test_an_alarm_over_an_expression_watches_what_it_returns() -> None:
    stat = {
        "Metric": {"Namespace": "Own", "MetricName": "A", "Dimensions": []},
        "Period": 60,
        "Stat": "Sum",
    }
    found = alarm(
        MetricName=None,
        Metrics=[
            {"Id": "e", "Expression": "a * 2", "Label": "twice"},
            {"Id": "a", "MetricStat": stat, "ReturnData": False},
        ],
    )
    assert [(each.id, each.visible) for each in found.series] == [("e", True), ("a", False)]
    assert found.rule.startswith("a * 2 > 100")
