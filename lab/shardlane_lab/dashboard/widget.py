"""The widgets of a dashboard's body, as values.

Source: "Dashboard body structure and syntax", CloudWatch API Reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardlane_lab.dashboard.series import Axis, Series, parse_series

GRID_COLUMNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """On a grid of 24 columns; rows as high as the dashboard's author counts them."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A horizontal annotation."""

    value: float
    label: str
    axis: Axis = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Of one axis: where it starts and ends, if that is fixed."""

    minimum: float | None = None
    maximum: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricWidget:
    title: str
    place: Place
    view: str
    """``timeSeries``, ``singleValue``, ``gauge``, ``bar``, ``pie`` or ``table``."""
    series: tuple[Series, ...]
    stacked: bool = False
    whole_range: bool = False
    """One value over all of the time (``setPeriodToTimeRange``)."""
    lines: tuple[Line, ...] = ()
    alarm_arns: tuple[str, ...] = ()
    """It shows these alarms' metrics and thresholds."""
    left: Scale = Scale()
    right: Scale = Scale()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWidget:
    title: str
    place: Place
    markdown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmWidget:
    """The states of alarms."""

    title: str
    place: Place
    alarm_arns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWidget:
    """A kind that has no drawing here."""

    title: str
    place: Place
    kind: str
    says: str
    """What it would show, as far as its body tells."""


Widget = MetricWidget | TextWidget | AlarmWidget | OtherWidget

Body = Mapping[str, Any]


def parse_widgets(body: str) -> tuple[Widget, ...]:
    """In reading order: by row, then by column. Raises ``ValueError`` for what is no body."""
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ValueError(f"the dashboard's body is not JSON: {error}") from error
    widgets = [_widget(each) for each in document["widgets"]]
    return tuple(sorted(widgets, key=lambda each: (each.place.y, each.place.x)))


def _widget(values: Body) -> Widget:
    properties = values.get("properties", {})
    title, place = str(properties.get("title", "")), _place(values)
    match values["type"]:
        case "metric":
            return _metric_widget(title, place, properties)
        case "text":
            return TextWidget(title=title, place=place, markdown=str(properties["markdown"]))
        case "alarm":
            return AlarmWidget(title=title, place=place, alarm_arns=tuple(properties["alarms"]))
        case kind:
            says = properties.get("query") or properties.get("endpoint") or ""
            return OtherWidget(title=title, place=place, kind=str(kind), says=str(says))


def _place(values: Body) -> Place:
    """With CloudWatch's defaults where the body says nothing."""
    return Place(
        x=int(values.get("x", 0)),
        y=int(values.get("y", 0)),
        width=int(values.get("width", 6)),
        height=int(values.get("height", 6)),
    )


def _metric_widget(title: str, place: Place, properties: Body) -> MetricWidget:
    annotations = properties.get("annotations", {})
    axes = properties.get("yAxis", {})
    return MetricWidget(
        title=title,
        place=place,
        view=str(properties.get("view", "timeSeries")),
        series=tuple(parse_series(properties.get("metrics", ()), properties)),
        stacked=bool(properties.get("stacked", False)),
        whole_range=bool(properties.get("setPeriodToTimeRange", False)),
        lines=tuple(_lines(annotations.get("horizontal", ()))),
        alarm_arns=tuple(annotations.get("alarms", ())),
        left=_scale(axes.get("left", {})),
        right=_scale(axes.get("right", {})),
    )


def _lines(horizontal: Sequence[Any]) -> list[Line]:
    """A band (two lines in one) becomes its two edges."""
    edges = [edge for each in horizontal for edge in (each if isinstance(each, list) else [each])]
    return [
        Line(
            value=float(edge["value"]),
            label=str(edge.get("label", "")),
            axis="right" if edge.get("yAxis") == "right" else "left",
        )
        for edge in edges
        if "value" in edge
    ]


def _scale(values: Body) -> Scale:
    return Scale(
        minimum=values.get("min"), maximum=values.get("max"), label=str(values.get("label", ""))
    )
