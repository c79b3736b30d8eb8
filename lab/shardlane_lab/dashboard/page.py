"""The dashboard as one page: no script, no network, no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files

from shardlane_lab.dashboard.alarm import Alarm
from shardlane_lab.dashboard.deployed import Dashboard
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.widget_markup import Drawing, DrawnWidget, draw_widget
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.page_head import page_head
from shardlane_lab.report.wording import plural


def dashboard_page(
    dashboard: Dashboard,
    alarms: Mapping[str, Alarm],
    metrics: RecordedMetrics,
    *,
    source: str,
    again_s: float | None = None,
) -> str:
    """``source`` says whose metrics they are. ``again_s``: the browser loads the page anew after
    so many seconds."""
    drawing = Drawing(metrics, alarms)
    drawn = [
        draw_widget(widget, drawing, number) for number, widget in enumerate(dashboard.widgets)
    ]
    css = files("shardlane_lab.dashboard").joinpath("page.css").read_text("utf-8")
    again = [Markup(f'<meta http-equiv="refresh" content="{again_s:g}">')] if again_s else []
    head = page_head(f"Dashboard {dashboard.name}", *again, css=css)
    page = tag("html", head, _body(dashboard, metrics, drawn, source), lang="en")
    return f"<!doctype html>\n{page}\n"


def _body(
    dashboard: Dashboard, metrics: RecordedMetrics, drawn: Sequence[DrawnWidget], source: str
) -> Markup:
    started = datetime.fromtimestamp(metrics.window.start_ms / 1000, UTC)
    when = (
        f"{plural(metrics.window.minutes, 'minute')} from {started:%Y-%m-%d %H:%M} UTC, by minutes"
    )
    header = tag("header", tag("span", tag("strong", "shardlane lab"), " · CloudWatch dashboard"))
    main = tag(
        "main",
        tag("h1", f"{dashboard.name}, drawn with {source}"),
        tag("p", f"{_answer(drawn)} {when}.", class_="quiet"),
        tag("div", *(each.markup for each in drawn), class_="grid"),
        id="main",
    )
    footer = tag(
        "footer",
        tag(
            "p",
            "Widgets, metrics, periods and statistics are those of the synthesized template. This "
            "page holds everything it shows: it loads nothing and runs no script.",
            class_="quiet",
        ),
    )
    skip = tag("a", "Skip to the dashboard", href="#main", class_="skip")
    return tag("body", skip, header, main, footer)


def _answer(drawn: Sequence[DrawnWidget]) -> str:
    empty = sum(each.empty for each in drawn)
    widgets = plural(len(drawn), "widget")
    return f"{widgets}, {empty or 'none'} without data."
