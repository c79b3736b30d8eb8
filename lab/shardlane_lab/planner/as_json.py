"""The plan as JSON: everything that the screen shows, and what it has no room for."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from shardlane_lab.planner.cost import Cost
from shardlane_lab.planner.plan import Plan
from shardlane_lab.planner.verdict import Considered, objections


def render(plan: Plan) -> str:
    document: dict[str, Any] = {
        "question": asdict(plan.question),
        "sizing": asdict(plan.sizing) | {"write_utilisation": plan.sizing.write_utilisation},
        "prices": {
            "region": plan.prices.region,
            "as_of": plan.prices.as_of,
            "source": plan.prices.source,
        },
        "choice": plan.choice.option.name if plan.choice else None,
        "runner_up": plan.runner_up.option.name if plan.runner_up else None,
        "options": [_option(plan, each) for each in plan.considered],
        "flips": [asdict(each) for each in plan.flips],
    }
    return json.dumps(document, indent=2) + "\n"


def _option(plan: Plan, considered: Considered) -> dict[str, Any]:
    option = considered.option
    return {
        "name": option.name,
        "mode": option.mode,
        "shards": considered.shards,
        "note": option.note,
        "impossible": list(considered.blockers),
        "objections": objections(plan.question, considered),
        "outside_measured_range": list(considered.outside),
        "utilisation": {
            "reads": considered.calls,
            "read_bytes": considered.read_bytes,
            "handlers": list(considered.handlers),
        },
        "cost": _cost(considered.cost),
        "groups": [_group(considered, number) for number in range(len(option.groups))],
    }


def _group(considered: Considered, number: int) -> dict[str, Any]:
    shown = asdict(considered.option.groups[number]) | {
        "catch_up_minutes": considered.catch_up_minutes[number]
    }
    if not considered.figures:
        return shown
    figures = considered.figures[number]
    return shown | asdict(figures) | {"concurrency": figures.concurrency}


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "known_usd": cost.known_usd,
        "unknown": cost.unknown,
        "items": [asdict(item) | {"usd": item.usd} for item in cost.items],
    }
