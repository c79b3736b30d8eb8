"""The page: every kind of widget, what there is no data for, and what is not drawn."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from shardlane_lab.dashboard.alarm_state import alarm_state
from shardlane_lab.dashboard.page import dashboard_page
from tests.unit.dashboard.bodies import (
    ARN,
    alarm,
    dashboard,
    metric_widget,
    recorded,
    rows,
)
from tests.unit.report.test_report_page import Outline

AGE = rows("Age", {0: [50, 150], 1: [120], 2: [130]}, "Milliseconds", label="x")
METRIC = ["Own", "Age", "label", "x", {"stat": "Maximum", "period": 60, "label": "age of x"}]
ELSEWHERE = ["Own", "Age", "label", "y", {"stat": "Maximum", "period": 60}]


def page_of(*widgets: dict[str, Any], again_s: float | None = None) -> str:
    return dashboard_page(
        dashboard(*widgets), {ARN: alarm()}, recorded(AGE), source="a test", again_s=again_s
    )


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.split("<main", 1)[1])))


def test_a_graph_has_its_lines_last_values_and_metrics() -> None:
    text = text_of(page_of(metric_widget([METRIC])))
    assert "1 widget, none without data." in text
    assert "age of x 130 ms" in text
    assert "age of x Own Age (label=x) Maximum 60 s Milliseconds 3 120 ms 150 ms 130 ms" in text
    assert "no data" not in text


def test_a_metric_without_data_is_named_and_the_others_are_drawn() -> None:
    text = text_of(page_of(metric_widget([METRIC, ELSEWHERE])))
    assert "Age: no data of Own Age (label=y), Maximum" in text
    assert "age of x 130 ms" in text
    assert "none without data" in text


def test_a_widget_without_any_data_says_so() -> None:
    page = page_of(metric_widget([ELSEWHERE], title="Elsewhere"))
    text = text_of(page)
    assert "1 widget, 1 without data." in text
    assert "Elsewhere no data Age: no data of Own Age (label=y), Maximum" in text
    assert 'class="plot"' not in page


def test_thresholds_of_annotations_and_alarms_are_lines_with_names() -> None:
    annotations = {"horizontal": [{"value": 90, "label": "getting late"}], "alarms": [ARN]}
    text = text_of(page_of(metric_widget([METRIC], annotations=annotations)))
    assert "getting late" in text
    assert "late > 100" in text
    assert "late: Maximum > 100 in 2 of 3 periods of 60 s" in text


def test_an_alarm_alone_draws_its_metric() -> None:
    page = page_of(metric_widget([], annotations={"alarms": [ARN]}))
    assert "Age 130 ms" in text_of(page)
    assert 'class="plot"' in page


def test_a_single_value_is_the_last_or_that_of_all_the_time() -> None:
    last = page_of(metric_widget([METRIC], view="singleValue"))
    whole = page_of(metric_widget([METRIC], view="singleValue", setPeriodToTimeRange=True))
    assert "<b>130 ms</b>" in last
    assert "<b>150 ms</b>" in whole
    assert 'class="plot"' not in last


def test_other_views_are_shown_as_numbers_and_say_so() -> None:
    assert "shown as numbers: the view gauge" in text_of(
        page_of(metric_widget([METRIC], view="gauge"))
    )


def test_text_is_markdown_and_never_raw_html() -> None:
    markdown = "# Late?\n**See** [the runbook](https://example.org) <script>alert(1)</script>"
    page = page_of({"type": "text", "properties": {"markdown": markdown}})
    assert "<h3>Late?</h3>" in page
    assert "<strong>See</strong>" in page
    assert Outline(page).of("script") == []


def test_alarm_states_and_what_is_not_drawn() -> None:
    unknown = ARN.replace("late", "elsewhere")
    text = text_of(
        page_of(
            {"type": "alarm", "properties": {"title": "States", "alarms": [ARN, unknown]}},
            {"type": "log", "y": 6, "properties": {"title": "Logs", "query": "fields @message"}},
            metric_widget([["Own", "Age", "label", "x", {"stat": "tm99"}]]) | {"y": 12},
        )
    )
    assert "States OK late" in text
    assert "elsewhere: the app does not deploy it" in text
    assert "Logs not drawn: a widget of type log fields @message" in text
    assert "not drawn: Age: the statistic tm99" in text


@pytest.mark.parametrize(
    ("changes", "minutes", "word"),
    [
        ({}, 3, "ALARM"),  # 150, 120, 130: three of the last three
        ({}, 4, "ALARM"),  # a missing minute counts as fine: two of the last three
        ({}, 5, "OK"),
        ({"Threshold": 125, "DatapointsToAlarm": 2}, 3, "ALARM"),
        ({"Threshold": 140, "DatapointsToAlarm": 2}, 3, "OK"),
        ({"TreatMissingData": "breaching"}, 5, "ALARM"),
        ({"MetricName": "Nothing"}, 3, "no data"),
        ({"MetricName": "Nothing", "TreatMissingData": "breaching"}, 3, "ALARM"),
        ({"ComparisonOperator": "LessThanThreshold"}, 3, "OK"),
        ({"Threshold": None}, 3, "not drawn"),
    ],
)
def test_the_state_of_an_alarm(changes: dict[str, Any], minutes: int, word: str) -> None:
    found = alarm_state(alarm(**changes), recorded(AGE, minutes=minutes))
    assert found.word == word
    assert found.alarming is (word == "ALARM")


def test_the_page_is_well_formed_loads_nothing_and_is_the_same_every_time() -> None:
    widgets = (
        metric_widget([METRIC, ELSEWHERE], stacked=True),
        metric_widget([METRIC], title="<b>&") | {"y": 6, "width": 24},
        metric_widget([METRIC], view="singleValue") | {"y": 12},
    )
    page = page_of(*widgets)
    outline = Outline(page)
    assert outline.misplaced == []
    assert outline.open == []
    assert not outline.of("script")
    assert len(outline.of("h1")) == 1
    assert set(re.findall(r"https?://[^\"' )]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert page_of(*widgets) == page


def test_a_page_that_is_drawn_again_reloads_itself() -> None:
    widget = metric_widget([ELSEWHERE])
    assert '<meta http-equiv="refresh" content="5">' in page_of(widget, again_s=5.0)
    assert "refresh" not in page_of(widget)
