"""What a widget draws: metrics with their statistic and period, and expressions over them.

Source: "Dashboard body structure and syntax", CloudWatch API Reference ("metrics" array).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shardlane_lab.metric import Dimensions

Axis = Literal["left", "right"]

DEFAULT_PERIOD_S = 300
DEFAULT_STAT = "Average"
"""What CloudWatch takes where neither the metric nor its widget says anything."""


class NotDrawnError(Exception):
    """Something of a dashboard that has no drawing here; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    namespace: str
    name: str
    dimensions: Dimensions
    stat: str
    period_s: int

    @property
    def text(self) -> str:
        """``AWS/Lambda Errors (FunctionName=f)``."""
        where = ", ".join(f"{name}={value}" for name, value in self.dimensions)
        return f"{self.namespace} {self.name}" + (f" ({where})" if where else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """Metric math over the series of the same widget, by their ids."""

    text: str
    period_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    source: Metric | Expression
    label: str
    id: str = ""
    axis: Axis = "left"
    visible: bool = True
    colour: str | None = None
    """As the dashboard wants it; drawn only where it does not: see ``palette``."""


def parse_series(entries: Iterable[Sequence[Any]], defaults: Mapping[str, Any]) -> list[Series]:
    """The ``metrics`` of a widget; ``defaults`` are the widget's own properties."""
    found: list[Series] = []
    before: list[str] = []
    for entry in entries:
        *names, options = entry if isinstance(entry[-1], Mapping) else [*entry, {}]
        if "expression" in options:
            found.append(_expression(options, defaults))
            continue
        before = _written_out(names, before)
        found.append(_metric(before, options, defaults))
    return found


def _written_out(names: Sequence[str], before: Sequence[str]) -> list[str]:
    """``.`` stands for the same word of the entry before, ``...`` for as many as are missing."""
    if "..." in names:
        place = names.index("...")
        missing = len(before) - len(names) + 1
        names = [*names[:place], *before[place : place + missing], *names[place + 1 :]]
    return [before[n] if name == "." else str(name) for n, name in enumerate(names)]


def _metric(
    names: Sequence[str], options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Series:
    namespace, name, *where = names
    pairs = tuple(sorted(zip(where[::2], where[1::2], strict=True)))
    metric = Metric(
        namespace=namespace,
        name=name,
        dimensions=pairs,
        stat=str(options.get("stat", defaults.get("stat", DEFAULT_STAT))),
        period_s=_period_s(options, defaults),
    )
    return _series(metric, str(options.get("label") or name), options)


def _expression(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Series:
    text = str(options["expression"])
    expression = Expression(text=text, period_s=_period_s(options, defaults))
    return _series(expression, str(options.get("label") or text), options)


def _period_s(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> int:
    return int(options.get("period", defaults.get("period", DEFAULT_PERIOD_S)))


def _series(source: Metric | Expression, label: str, options: Mapping[str, Any]) -> Series:
    return Series(
        source=source,
        label=label,
        id=str(options.get("id", "")),
        axis="right" if options.get("yAxis") == "right" else "left",
        visible=bool(options.get("visible", True)),
        colour=options.get("color"),
    )
