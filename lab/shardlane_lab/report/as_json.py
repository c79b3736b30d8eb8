"""The report for programs: every figure, with basis, published value and ratio."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from shardlane_lab.report.clock import ClockCheck
from shardlane_lab.report.compared import Compared
from shardlane_lab.report.difference import MedianDifference, median_differences
from shardlane_lab.report.finding import delivery, finding
from shardlane_lab.report.note import notes
from shardlane_lab.report.poison.figures import PoisonFigures
from shardlane_lab.report.poison.words import poison_finding
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.title import short_names

SCHEMA = 1
"""Raised when a name changes its meaning or goes; new names do not raise it."""

DECIMALS = 3
"""Epoch milliseconds in a double are exact to a quarter of a microsecond; the rest is noise."""


def json_report(summaries: Sequence[Summary], poison: PoisonFigures | None = None) -> str:
    names = short_names([summary.record for summary in summaries])
    document = {
        "schema": SCHEMA,
        "poison": None if poison is None else _poison(poison),
        "finding": finding(summaries),
        "delivery": delivery(summaries),
        "runs": [
            {"name": name, "notes": notes(summary), **_plain_fields(summary)}
            for name, summary in zip(names, summaries, strict=True)
        ],
        "median_differences": median_differences(summaries),
    }
    return json.dumps(_plain(document), indent=2, ensure_ascii=False) + "\n"


def _poison(figures: PoisonFigures) -> dict[str, Any]:
    """Without the dots of the plots."""
    policies = [_plain_fields(each) for each in figures.policies]
    for each in policies:
        del each["dots"], each["poison_dots"]
    return {
        "finding": poison_finding(figures),
        "seed": figures.seed,
        "setting": figures.setting,
        "policies": policies,
    }


def _plain(value: Any) -> Any:
    match value:
        case float():
            return round(value, DECIMALS)
        case Compared():
            return _plain_fields(value) | {"ratio": _plain(value.ratio)}
        case ClockCheck():
            return _plain_fields(value) | {"crosses_clocks": value.crosses}
        case MedianDifference():
            return _plain_fields(value) | {
                "clear": _plain(value.clear),
                "from_first_ms": _plain(value.from_first_ms),
                "ratios_to_first": _plain(value.ratios_to_first),
            }
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case str():
            return value
        case Sequence():
            return [_plain(each) for each in value]
        case _ if is_dataclass(value):
            return _plain_fields(value)
        case _:
            return value


def _plain_fields(value: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
