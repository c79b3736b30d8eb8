"""The dashboard in a real browser: nothing complains, every graph is drawn, nothing overflows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shardlane_lab.dashboard.page import dashboard_page
from tests.unit.dashboard.bodies import ARN, alarm, dashboard, metric_widget, recorded, rows
from tests.unit.report.chromium_pipe import Page, Scheme, chromium_page, find_chromium
from tests.unit.report.test_report_in_chromium import PLOTS_DRAWN, SMALLEST_PLOT_TEXT

CHROMIUM = find_chromium()

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium on the PATH (chromium, chromium-browser, google-chrome or chrome)",
    ),
    pytest.mark.slow("starts a browser"),
]

LONG = "a-function-with-a-name-that-no-column-of-a-dashboard-has-room-for-" * 2
AGE = rows("Age", {0: [50, 150], 1: [120], 2: [130]}, "Milliseconds", label="x")
METRIC = ["Own", "Age", "label", "x", {"stat": "Maximum", "period": 60, "label": LONG}]
NOTHING = ["Own", LONG, "label", "y", {"stat": "Sum", "period": 60}]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    widgets = (
        {"type": "text", "width": 24, "properties": {"markdown": f"# {LONG}"}},
        metric_widget([METRIC], title=LONG) | {"y": 1, "width": 24},
        metric_widget([METRIC], stacked=True) | {"y": 7, "width": 12},
        metric_widget([METRIC, NOTHING], annotations={"alarms": [ARN]})
        | {"y": 7, "x": 12, "width": 6},
        metric_widget([METRIC], view="singleValue") | {"y": 7, "x": 18, "width": 6},
        metric_widget([NOTHING]) | {"y": 13, "width": 8},
        {"type": "alarm", "y": 13, "x": 8, "width": 8, "properties": {"alarms": [ARN]}},
    )
    page = dashboard_page(dashboard(*widgets), {ARN: alarm()}, recorded(AGE), source="a test")
    path = tmp_path_factory.mktemp("dashboard") / "dashboard.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert CHROMIUM is not None
    with chromium_page(CHROMIUM, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_dashboard_is_whole_at_every_width_and_in_both_modes(
    browser: Page, page_file: Path, width: int, scheme: Scheme
) -> None:
    browser.open(page_file, width=width, scheme=scheme)
    assert browser.complaints == []
    assert browser.requests == [page_file.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    drawn = browser.evaluate(PLOTS_DRAWN)
    assert len(drawn) == 3
    assert all(drawn)
    assert browser.evaluate(SMALLEST_PLOT_TEXT) >= 8.5


def test_widgets_stand_where_the_dashboard_puts_them(browser: Page, page_file: Path) -> None:
    browser.open(page_file, width=1440)
    tops = browser.evaluate(
        "[...document.querySelectorAll('.widget')]"
        ".map(e => Math.round(e.getBoundingClientRect().top))"
    )
    assert tops[0] < tops[1] < tops[2] == tops[3] == tops[4] < tops[5] == tops[6]
    lefts = browser.evaluate(
        "[...document.querySelectorAll('.widget')]"
        ".map(e => Math.round(e.getBoundingClientRect().left))"
    )
    assert lefts[2] < lefts[3] < lefts[4]


def test_the_metrics_of_a_widget_open_by_keyboard(browser: Page, page_file: Path) -> None:
    browser.open(page_file, width=1440)
    for _ in range(3):
        browser.press("Tab")
    assert browser.evaluate("document.activeElement.tagName") == "SUMMARY"
    browser.evaluate("document.activeElement.click()")
    assert browser.evaluate("document.querySelectorAll('details[open]').length") == 1
    assert browser.evaluate("document.documentElement.scrollWidth") == 1440
