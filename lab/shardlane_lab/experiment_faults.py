"""What goes wrong in an experiment, as fault plans of the local Kinesis that follow each other."""

from __future__ import annotations

from collections.abc import Iterator

from shardlane_lab.experiment import Experiment, FaultWindow, Outage
from shardlane_lab.local_kinesis.faults import FaultPlan


def fault_plans(experiment: Experiment) -> list[tuple[float, FaultPlan]]:
    """``(from second, plan)`` in order; each plan takes the place of the one before. None for an
    experiment in which nothing goes wrong."""
    windows = [*experiment.faults, *_windows_of(experiment.outages)]
    if not windows:
        return []
    starts = {each.from_s for each in windows}
    ends = {each.until_s for each in windows if each.until_s is not None}
    return [
        (at_s, _plan_at(at_s, windows, experiment.service.seed + number))
        for number, at_s in enumerate(sorted(starts | ends))
    ]


def _plan_at(at_s: float, windows: list[FaultWindow], seed: int) -> FaultPlan:
    return FaultPlan(tuple(each.rule() for each in windows if _is_open(each, at_s)), seed)


def _is_open(window: FaultWindow, at_s: float) -> bool:
    return window.from_s <= at_s and (window.until_s is None or at_s < window.until_s)


def _windows_of(outages: tuple[Outage, ...]) -> Iterator[FaultWindow]:
    """Polls and new subscriptions are refused; a subscription that stands ends with an error."""
    for outage in outages:
        for kind, operation in (
            ("throttle", "GetRecords"),
            ("throttle", "SubscribeToShard"),
            ("exception-frame", "SubscribeToShard"),
        ):
            yield FaultWindow.model_validate(
                {
                    "kind": kind,
                    "operation": operation,
                    "from_s": outage.at_s,
                    "until_s": outage.at_s + outage.seconds,
                }
            )
