"""What becomes of handlers that are still running when the invocation has to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from shardlane.clock import Clock
from shardlane.deadline import Deadline
from shardlane.keyed_batch import KeyedBatch
from shardlane.policy import Action
from shardlane.steps import Effects, park

if TYPE_CHECKING:
    from shardlane.parking.desk import ParkingDesk

FAIR_SHARE = 0.5
"""A handler that had less than this share of the invocation's time is delivered again, where it
runs first and has all of it: it may have started just before the margin, and is not to blame."""


def park_overrun(
    batch: KeyedBatch,
    started_s: Mapping[int, float],
    clock: Clock,
    deadline: Deadline,
    desk: ParkingDesk | None,
) -> Iterator[Effects]:
    """Decides about each handler that runs on, lowest position first; yields what is to be done
    to park those whose policy parks."""
    now_s = clock.monotonic_s()
    for position in sorted(started_s):
        ran_s = now_s - started_s[position]
        if ran_s < FAIR_SHARE * deadline.budget_s:
            continue
        verdict = batch.overran(position, ran_s)
        if verdict.action is Action.PARK and desk is not None:
            yield park(batch, position, verdict, desk.until(deadline.answer_s), clock.monotonic_s)
