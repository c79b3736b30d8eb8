"""What happens to records once they have been read: batches, lanes, handling.

A lane is one batch at a time: a shard has one, or as many as ParallelizationFactor says, and a
key is always in the same one. Reading goes on meanwhile, so a slow handler makes records wait
here and nowhere else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardlane_lab.simulator.arrivals import Times
from shardlane_lab.simulator.reader import Handling


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How batches form and how long one takes. Milliseconds."""

    records_per_batch: int
    window_ms: float
    before_ms: float
    """From the moment a batch is complete to its receipt by the function."""
    overhead_ms: float
    """Of one batch, apart from its records."""
    handling: Handling


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of one lane in order."""

    first: NDArray[np.int64]
    """Position, within the lane, of each batch's first record."""
    size: NDArray[np.int64]
    received_ms: Times
    done_ms: Times


def batches(ready_ms: list[float], stage: Stage, taken_ms: Callable[[int], float]) -> Batches:
    """The batches of a lane whose records are there at ``ready_ms`` (ascending). ``taken_ms``
    gives the handling time of a batch of so many records."""
    count, limit = len(ready_ms), stage.records_per_batch
    firsts: list[int] = []
    received: list[float] = []
    done: list[float] = []
    position, free_ms = 0, float("-inf")
    while position < count:
        due_ms = ready_ms[position] + stage.window_ms
        full = position + limit - 1
        if stage.window_ms and full < count and ready_ms[full] < due_ms:
            due_ms = ready_ms[full]
        start_ms = due_ms if due_ms > free_ms else free_ms
        end = bisect_right(ready_ms, start_ms, position, min(count, position + limit))
        received_ms = start_ms + stage.before_ms
        free_ms = received_ms + stage.overhead_ms + taken_ms(end - position)
        firsts.append(position)
        received.append(received_ms)
        done.append(free_ms)
        position = end
    first = np.array(firsts, dtype=np.int64)
    size = np.diff(np.append(first, count))
    return Batches(first, size, np.array(received), np.array(done))


def batch_time(handling: Handling, rng: np.random.Generator) -> Callable[[int], float]:
    """Handling time of a batch by its count. ``workers`` share a batch evenly, as they do when
    it has many keys; one hot key would take longer."""
    per_record_ms, workers = handling.per_record_ms, handling.workers
    if per_record_ms and handling.spread == "exponential":
        return lambda count: float(rng.gamma(-(-count // workers), per_record_ms))
    return lambda count: -(-count // workers) * per_record_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """By record, in stream order, and by batch."""

    received_ms: Times
    done_ms: Times
    batch: NDArray[np.int64]
    """How many records came together with this one."""
    oldest: NDArray[np.int64]
    """By batch, in order of receipt: the index of its first record."""
    invoked_ms: Times
    duration_ms: Times


def handle(
    ready_ms: Times, lane: NDArray[np.int64] | None, stage: Stage, rng: np.random.Generator
) -> Handled:
    """``lane``: the lane of each record; None is one lane for all."""
    if lane is None or not len(ready_ms):
        return _one_lane(ready_ms, stage, rng)
    count = len(ready_ms)
    received, done = np.empty(count), np.empty(count)
    batch = np.empty(count, dtype=np.int64)
    parts = []
    for number in np.unique(lane):
        members = np.flatnonzero(lane == number)
        part = _one_lane(ready_ms[members], stage, rng)
        received[members], done[members] = part.received_ms, part.done_ms
        batch[members] = part.batch
        parts.append((members[part.oldest], part.invoked_ms, part.duration_ms))
    oldest, invoked_ms, duration_ms = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    order = np.argsort(invoked_ms, kind="stable")
    return Handled(
        received_ms=received,
        done_ms=done,
        batch=batch,
        oldest=oldest[order],
        invoked_ms=invoked_ms[order],
        duration_ms=duration_ms[order],
    )


def _one_lane(ready_ms: Times, stage: Stage, rng: np.random.Generator) -> Handled:
    made = _made(ready_ms, stage, rng)
    received_ms = np.repeat(made.received_ms, made.size)
    return Handled(
        received_ms=received_ms,
        done_ms=_done_ms(received_ms, made, stage),
        batch=np.repeat(made.size, made.size),
        oldest=made.first,
        invoked_ms=made.received_ms,
        duration_ms=made.done_ms - made.received_ms,
    )


def _made(ready_ms: Times, stage: Stage, rng: np.random.Generator) -> Batches:
    """What ``batches`` gives, by a short cut where there is one."""
    if stage.records_per_batch == 1:
        return _single_file(ready_ms, stage, rng)
    return _all_alone(ready_ms, stage) or batches(
        ready_ms.tolist(), stage, batch_time(stage.handling, rng)
    )


def _single_file(ready_ms: Times, stage: Stage, rng: np.random.Generator) -> Batches:
    """Batches of one record, for which the window plays no part: Lindley's recursion, start =
    max(ready, end of the one before), as a running maximum."""
    count, handling = len(ready_ms), stage.handling
    taken_ms = np.full(count, handling.per_record_ms)
    if handling.spread == "exponential":
        taken_ms = rng.exponential(handling.per_record_ms, count)
    taken_ms = taken_ms + stage.before_ms + stage.overhead_ms
    ended_ms = np.cumsum(taken_ms)
    begun_ms = ended_ms - taken_ms
    start_ms = np.maximum.accumulate(ready_ms - begun_ms) + begun_ms
    one = np.ones(count, dtype=np.int64)
    return Batches(
        np.arange(count, dtype=np.int64), one, start_ms + stage.before_ms, start_ms + taken_ms
    )


def _all_alone(ready_ms: Times, stage: Stage) -> Batches | None:
    """What ``batches`` gives if every record is done before the next one comes; None if one is
    not. Common with enhanced fan-out at low rates, and much faster."""
    if stage.window_ms or stage.handling.spread != "fixed":
        return None
    taken_ms = stage.overhead_ms + stage.handling.per_record_ms
    if np.any(ready_ms[1:] - ready_ms[:-1] <= stage.before_ms + taken_ms):
        return None
    count = len(ready_ms)
    received_ms = ready_ms + stage.before_ms
    one = np.ones(count, dtype=np.int64)
    return Batches(np.arange(count, dtype=np.int64), one, received_ms, received_ms + taken_ms)


def _done_ms(received_ms: Times, made: Batches, stage: Stage) -> Times:
    """A record is done when its turn in the batch is over; the overhead comes after the last.

    Turns share the batch's own handling time, which for a fixed time per record is exact.
    """
    if not stage.handling.per_record_ms:
        return received_ms
    workers = stage.handling.workers
    place = np.arange(len(received_ms)) - np.repeat(made.first, made.size)
    turns = -(-made.size // workers)
    turn_ms = (made.done_ms - made.received_ms - stage.overhead_ms) / turns
    return received_ms + (place // workers + 1) * np.repeat(turn_ms, made.size)
