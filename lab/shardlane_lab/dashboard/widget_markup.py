"""A widget as HTML: its title, what is drawn of it, and the metrics behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardlane_lab.dashboard.alarm import Alarm
from shardlane_lab.dashboard.alarm_state import alarm_state
from shardlane_lab.dashboard.drawn import DrawnSeries, drawn_series
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.plot import graph
from shardlane_lab.dashboard.quantity import tick_text
from shardlane_lab.dashboard.series import Series
from shardlane_lab.dashboard.text_markup import text_markup
from shardlane_lab.dashboard.widget import (
    AlarmWidget,
    Line,
    MetricWidget,
    OtherWidget,
    TextWidget,
    Widget,
)
from shardlane_lab.report.html_table import key, table_markup
from shardlane_lab.report.markup import Markup, tag
from shardlane_lab.report.palette import ALARM, Stroke, series_stroke
from shardlane_lab.report.table import Group, Table, cells

NO_DATA = "no data"

_PLOT_HEIGHT = 170.0
_NARROW, _HALF, _WIDE = 330.0, 410.0, 900.0
_SMALL = 340.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """What every widget is drawn with."""

    metrics: RecordedMetrics
    alarms: Mapping[str, Alarm]


@dataclass(frozen=True, slots=True)
class DrawnWidget:
    markup: Markup
    empty: bool
    """It shows metrics, and the run has data for none of them."""


def draw_widget(widget: Widget, drawing: Drawing, number: int) -> DrawnWidget:
    """``number`` is its place in the page, for unique names."""
    if isinstance(widget, MetricWidget):
        return _metric_widget(widget, drawing, number)
    if isinstance(widget, TextWidget):
        return DrawnWidget(_box(widget, "text", text_markup(widget.markdown)), empty=False)
    if isinstance(widget, AlarmWidget):
        return DrawnWidget(_box(widget, "alarm", _alarm_list(widget, drawing)), empty=False)
    return DrawnWidget(_box(widget, "other", *_not_drawn(widget)), empty=False)


def _box(widget: Widget, kind: str, *parts: Markup) -> Markup:
    place = widget.place
    style = (
        f"--column: {place.x + 1}; --width: {place.width}; "
        f"--row: {place.y + 1}; --height: {place.height}"
    )
    title = [tag("h2", widget.title)] if widget.title else []
    name = widget.title or f"{kind} widget"
    return tag("section", *title, *parts, class_=f"widget {kind}", style=style, aria_label=name)


# --- metrics ----------------------------------------------------------------------------------


def _metric_widget(widget: MetricWidget, drawing: Drawing, number: int) -> DrawnWidget:
    alarms = [drawing.alarms[arn] for arn in widget.alarm_arns if arn in drawing.alarms]
    series: list[Series] = [*widget.series, *(each for alarm in alarms for each in alarm.series)]
    drawn = drawn_series(series, drawing.metrics)
    lines = [*widget.lines, *_thresholds(alarms)]
    has_data = any(each.points for each in drawn)
    parts: list[Markup] = []
    if not has_data:
        parts.append(tag("div", NO_DATA, class_="empty"))
    elif widget.view == "timeSeries":
        parts += _graphs(widget, drawn, lines, drawing, number)
        parts.append(_keys(drawn, lines))
    else:
        parts.append(_numbers(widget, drawn))
    parts += _notices(widget, drawn, alarms)
    parts.append(_behind(widget, drawn, alarms))
    return DrawnWidget(_box(widget, "metric", *parts), empty=not has_data)


def _thresholds(alarms: Iterable[Alarm]) -> list[Line]:
    return [
        Line(value=alarm.threshold, label=f"{alarm.name} {alarm.comparison} {alarm.threshold:,g}")
        for alarm in alarms
        if alarm.threshold is not None
    ]


def _graphs(
    widget: MetricWidget,
    drawn: Sequence[DrawnSeries],
    lines: Sequence[Line],
    drawing: Drawing,
    number: int,
) -> list[Markup]:
    """A widget over more than half of the dashboard is drawn once more for narrow screens."""
    sizes = {"": _HALF if widget.place.width > 8 else _NARROW}
    if widget.place.width > 12:
        sizes = {"wide": _WIDE, "small": _SMALL}
    return [
        tag(
            "div",
            graph(
                widget,
                drawn,
                lines,
                drawing.metrics.window,
                size=(width, _PLOT_HEIGHT),
                name=f"widget-{number}{variant and f'-{variant}'}",
            ),
            class_=variant or False,
        )
        for variant, width in sizes.items()
    ]


def _keys(drawn: Sequence[DrawnSeries], lines: Sequence[Line]) -> Markup:
    items = [_key(place, each) for place, each in enumerate(drawn) if each.points]
    items += [
        tag("li", key(Stroke(ALARM, (5, 3))), line.label or f"{line.value:,g}") for line in lines
    ]
    return tag("ul", *items, class_="lines", aria_label="Lines and their last values")


def _key(place: int, each: DrawnSeries) -> Markup:
    label = each.series.label
    axis = " (right axis)" if each.series.axis == "right" and "right" not in label else ""
    value = tag("b", _value(each.last, each.unit))
    return tag("li", key(series_stroke(place)), f"{label}{axis}", value)


def _numbers(widget: MetricWidget, drawn: Sequence[DrawnSeries]) -> Markup:
    """The last period's value, or that of all the time where the widget says so."""
    blocks = []
    for each in drawn:
        value = each.whole if widget.whole_range and each.whole is not None else each.last
        text = "–" if value is None else tick_text(value, each.unit)
        blocks.append(tag("div", tag("b", text), tag("span", each.series.label), class_="number"))
    return tag("div", *blocks, class_="numbers")


def _notices(
    widget: MetricWidget, drawn: Sequence[DrawnSeries], alarms: Sequence[Alarm]
) -> list[Markup]:
    said = [
        f"{each.series.label}: {NO_DATA} of {each.what}, {each.stat}"
        for each in drawn
        if not (each.points or each.problem)
    ]
    said += [f"not drawn: {each.series.label}: {each.problem}" for each in drawn if each.problem]
    unknown = len(widget.alarm_arns) - len(alarms)
    if unknown:
        said.append(f"not drawn: {unknown} alarm(s) that the app does not deploy")
    if widget.view not in ("timeSeries", "singleValue"):
        said.append(f"shown as numbers: the view {widget.view}")
    return [tag("ul", *(tag("li", each) for each in said), class_="notices")] if said else []


def _behind(widget: MetricWidget, drawn: Sequence[DrawnSeries], alarms: Sequence[Alarm]) -> Markup:
    """The metrics as the dashboard names them, with what came."""
    rows = tuple(
        cells(
            each.series.label,
            each.what,
            each.stat,
            f"{each.series.source.period_s} s",
            each.unit or "–",
            str(len(each.points)),
            *(_value(value, each.unit) for value in _extremes(each)),
        )
        for each in drawn
    )
    columns = ("label", "metric", "stat", "period", "unit", "values", "lowest", "highest", "last")
    table = Table(
        name="metrics",
        title=f"Metrics of {widget.title or 'this widget'}",
        columns=columns,
        groups=(Group("", "", rows),),
        words=frozenset({0, 1, 2}),
    )
    rules = [tag("p", f"{alarm.name}: {alarm.rule}.", class_="quiet") for alarm in alarms]
    return tag("details", tag("summary", "Metrics"), table_markup(table, {}), *rules)


def _extremes(each: DrawnSeries) -> tuple[float | None, float | None, float | None]:
    values = each.points.values()
    return min(values, default=None), max(values, default=None), each.last


def _value(value: float | None, unit: str) -> str:
    return "–" if value is None else tick_text(value, unit)


# --- the others -------------------------------------------------------------------------------


def _alarm_list(widget: AlarmWidget, drawing: Drawing) -> Markup:
    items = []
    for arn in widget.alarm_arns:
        alarm = drawing.alarms.get(arn)
        if alarm is None:
            items.append(tag("li", f"{arn.rsplit(':', 1)[-1]}: the app does not deploy it"))
            continue
        state = alarm_state(alarm, drawing.metrics)
        items.append(
            tag(
                "li",
                tag("span", state.word, class_=f"state {'alarm' if state.alarming else 'fine'}"),
                alarm.name,
                tag("small", f"{alarm.rule}. {state.reason}"),
            )
        )
    return tag("ul", *items, class_="alarms")


def _not_drawn(widget: OtherWidget) -> list[Markup]:
    said = [tag("div", f"not drawn: a widget of type {widget.kind}", class_="empty")]
    if widget.says:
        said.append(tag("code", widget.says))
    return said
