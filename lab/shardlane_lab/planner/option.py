"""The ways of reading that are compared: who reads how, in which capacity mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from shardlane_lab.experiment import MAPPING_KINDS
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import BUSY, MAX_PARALLELIZATION, Sizing
from shardlane_lab.run_record import Kind
from shardlane_lab.simulator.reader import Handling, MappingParameters, Reader

Mode = Literal["provisioned", "on-demand", "advantage"]

FUNCTION_TIMEOUT_MS = 900_000.0
"""15 minutes (Lambda quotas)."""
PACED_CALLS_PER_S = 4.0
"""Polls that ask for so many of the 5 calls a second are hardly ever refused."""
FAST_IN_A_MIX = 2
WINDOW_MS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Consumers of one option that read alike."""

    kind: Kind
    count: int
    interval_ms: float = 200.0
    lanes: int = 1
    """ParallelizationFactor of a mapping; workers by key of a boto3 consumer."""
    window_ms: float = 0.0
    batch_size: int = 100
    handler_ms: float = 0.0

    @property
    def is_mapping(self) -> bool:
        return self.kind in MAPPING_KINDS

    @property
    def fans_out(self) -> bool:
        return self.kind in ("lambda-efo", "boto3-efo")

    def readers(self) -> list[Reader]:
        mapping = MappingParameters(
            batch_size=self.batch_size,
            window_ms=self.window_ms,
            parallelization=self.lanes if self.is_mapping else 1,
        )
        handling = Handling(
            per_record_ms=self.handler_ms, workers=1 if self.is_mapping else self.lanes
        )
        return [
            Reader(
                label=f"{self.kind}-{number}",
                kind=self.kind,
                interval_ms=self.interval_ms,
                handling=handling,
                mapping=mapping,
            )
            for number in range(1, self.count + 1)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    name: str
    groups: tuple[Group, ...]
    mode: Mode = "provisioned"
    note: str = field(default="")

    @property
    def fan_out_consumers(self) -> int:
        return sum(group.count for group in self.groups if group.fans_out)

    @property
    def shared_consumers(self) -> int:
        return sum(group.count for group in self.groups if not group.fans_out)

    @property
    def boto3_consumers(self) -> int:
        return sum(group.count for group in self.groups if not group.is_mapping)


def options(question: Question, provisioned: Sizing, on_demand: Sizing) -> list[Option]:
    """Provisioned mode first, then some of the same readers in the on-demand modes."""
    return [*_provisioned(question, provisioned), *_on_demand(question, on_demand)]


def _provisioned(question: Question, sizing: Sizing) -> Iterator[Option]:
    count = question.consumers
    standard = _group(question, sizing, "lambda-standard", count)
    efo = _group(question, sizing, "lambda-efo", count)
    pollers = _group(question, sizing, "boto3-get-records", count)
    yield Option(name="Lambda standard", groups=(standard,))
    yield Option(name="Lambda EFO", groups=(efo,))
    yield Option(
        name="Lambda EFO, 1 s window",
        groups=(replace(efo, window_ms=WINDOW_MS),),
        note="fewer invocations for a second of latency",
    )
    if count > FAST_IN_A_MIX:
        fast, rest = FAST_IN_A_MIX, count - FAST_IN_A_MIX
        yield Option(
            name=f"{fast} Lambda EFO + {rest} standard",
            groups=(replace(efo, count=fast), replace(standard, count=rest)),
        )
    yield Option(name="boto3 polling", groups=(pollers,))
    paced_ms = paced_interval_ms(count)
    if paced_ms > question.interval_ms:
        yield Option(
            name=f"boto3 polling, {paced_ms:,.0f} ms",
            groups=(replace(pollers, interval_ms=paced_ms),),
            note="the shortest interval that is hardly ever throttled",
        )
    yield Option(name="boto3 EFO", groups=(_group(question, sizing, "boto3-efo", count),))
    if count > FAST_IN_A_MIX:
        push = _group(question, sizing, "boto3-efo", FAST_IN_A_MIX)
        yield Option(
            name=f"{FAST_IN_A_MIX} boto3 EFO + {count - FAST_IN_A_MIX} polling",
            groups=(push, replace(pollers, count=count - FAST_IN_A_MIX)),
        )


def _on_demand(question: Question, sizing: Sizing) -> Iterator[Option]:
    standard = _group(question, sizing, "lambda-standard", question.consumers)
    efo = _group(question, sizing, "lambda-efo", question.consumers)
    yield Option(name="On-demand, Lambda standard", groups=(standard,), mode="on-demand")
    yield Option(name="On-demand, Lambda EFO", groups=(efo,), mode="on-demand")
    yield Option(name="Advantage, Lambda EFO", groups=(efo,), mode="advantage")


def _group(question: Question, sizing: Sizing, kind: Kind, count: int) -> Group:
    return Group(
        kind=kind,
        count=count,
        interval_ms=question.interval_ms,
        lanes=lanes(question, sizing, kind),
        batch_size=_batch_size(question.handler_ms),
        handler_ms=question.handler_ms,
    )


def lanes(question: Question, sizing: Sizing, kind: Kind) -> int:
    """The fewest at once that keep the handlers of the busiest shard under ``BUSY``: more than
    one only if rate × time per record asks for it."""
    needed = math.ceil(sizing.rate_per_s * question.handler_ms / 1000.0 / BUSY)
    most = sizing.busiest_keys
    if kind in MAPPING_KINDS:
        most = min(most, MAX_PARALLELIZATION)
    return max(1, min(needed, most))


def _batch_size(handler_ms: float) -> int:
    """100, or what one invocation can handle in half of Lambda's longest timeout."""
    if not handler_ms:
        return 100
    return max(1, min(100, int(FUNCTION_TIMEOUT_MS / 2 / handler_ms)))


def paced_interval_ms(pollers: int) -> float:
    """The pause at which so many pollers together ask for ``PACED_CALLS_PER_S`` calls."""
    return pollers * 1000.0 / PACED_CALLS_PER_S
