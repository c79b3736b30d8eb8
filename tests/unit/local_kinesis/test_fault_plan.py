"""Fault plans: what a file may say, and that a seed repeats a run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.faults import (
    Fault,
    FaultKind,
    FaultPlan,
    Site,
    fault_plan,
    read_fault_plan,
)
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import run_virtual, wall_ms

THROTTLE = frozenset({FaultKind.THROTTLE})


def fired(plan: FaultPlan, matches: int) -> list[bool]:
    return [plan.draw(THROTTLE, Site("GetRecords")) is not None for _ in range(matches)]


def test_the_same_seed_fires_at_the_same_matches() -> None:
    rule = Fault(kind=FaultKind.THROTTLE, probability=0.3)
    first, second, other = (fired(FaultPlan((rule,), seed), 200) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    assert 30 < sum(first) < 90


def test_a_burst_fires_so_often_in_a_row() -> None:
    rule = Fault(kind=FaultKind.THROTTLE, probability=0.1, burst=4)
    text = "".join("x" if each else "." for each in fired(FaultPlan((rule,), 5), 400))
    runs = [len(run) for run in text.split(".") if run]
    assert runs
    assert all(run % 4 == 0 for run in runs)


def test_after_and_times_bound_a_rule() -> None:
    rule = Fault(kind=FaultKind.THROTTLE, after=2, times=3)
    assert fired(FaultPlan((rule,)), 7) == [False, False, True, True, True, False, False]


def test_a_toml_file_is_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(
        'seed = 7\n[[fault]]\nkind = "latency"\noperation = "PutRecord"\nms = 500\n'
        '[[fault]]\nkind = "silence"\nprobability = 0.01\n'
    )
    plan = read_fault_plan(path)
    assert plan.seed == 7
    assert plan.rules[0] == Fault(kind=FaultKind.LATENCY, operation="PutRecord", ms=500)
    assert plan.rules[1].probability == 0.01


def test_a_json_file_is_a_plan_and_a_plan_shows_itself_so(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('{"seed": 7, "fault": [{"kind": "duplicate", "records": 3}]}')
    plan = read_fault_plan(path)
    shown = plan.as_dict()
    assert shown["fault"][0]["kind"] == "duplicate"
    assert (shown["fault"][0]["matched"], shown["fault"][0]["fired"]) == (0, 0)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "a fault plan is a table"),
        ({"faults": []}, "unknown key 'faults'"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"fault": {}}, "fault must be a list"),
        ({"fault": [3]}, "fault 1 is not a table"),
        ({"fault": [{"kind": "boom"}]}, "fault 1: kind 'boom' is none of throttle, "),
        ({"fault": [{}]}, "fault 1: kind None is none of"),
        ({"fault": [{"kind": "silence", "prob": 1}]}, "unknown key 'prob'; known are kind, "),
        ({"fault": [{"kind": "silence", "probability": 2}]}, "between 0 and 1: 2"),
        ({"fault": [{"kind": "silence", "probability": True}]}, "must be a number: True"),
        ({"fault": [{"kind": "silence", "times": 1.5}]}, "times must be a whole number"),
        ({"fault": [{"kind": "silence", "burst": 0}]}, "burst must be at least 1"),
        ({"fault": [{"kind": "latency", "ms": -1}]}, "must not be negative"),
        ({"fault": [{"kind": "latency", "ms": float("inf")}]}, "ms must be a finite number: inf"),
        ({"fault": [{"kind": "throttle", "times": -1}]}, "times must not be negative: -1"),
        ({"fault": [{"kind": "throttle", "operation": "GetRecord"}]}, "'GetRecord' is none of"),
        (
            {"fault": [{"kind": "silence", "operation": "GetRecords"}]},
            "silence happens at SubscribeToShard only, not at GetRecords",
        ),
        (
            {"fault": [{"kind": "clock-skew", "operation": "GetRecords"}]},
            "clock-skew happens at PutRecord and PutRecords only",
        ),
    ],
)
def test_a_wrong_plan_says_what_is_wrong(values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fault_plan(values)


def test_a_file_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text("kind = ")
    with pytest.raises(ValueError, match=r"faults\.toml is not TOML"):
        read_fault_plan(path)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"faults\.toml is not TOML: 'utf-8' codec"):
        read_fault_plan(path)


def test_a_latency_spike_delays_one_call() -> None:
    async def main() -> None:
        spike = Fault(kind=FaultKind.LATENCY, operation="ListStreams", ms=750, after=1, times=1)
        client = InProcessKinesis(Kinesis(faults=FaultPlan((spike,))), wall_ms)
        took_ms = []
        for _ in range(3):
            started_ms = wall_ms()
            await client.call("ListStreams", {})
            took_ms.append(wall_ms() - started_ms)
            await asyncio.sleep(1)
        assert took_ms == pytest.approx([0, 750, 0], abs=0.01)

    run_virtual(main())
