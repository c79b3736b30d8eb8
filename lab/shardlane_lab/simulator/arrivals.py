"""When records are sent, arrive and can be read: the same for every reader of the shard."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shardlane_lab.local_kinesis.delays import Delays

Times = NDArray[np.float64]
"""Milliseconds from the first scheduled send, one for each record in stream order."""
Pattern = Literal["steady", "poisson"]
Producer = Literal["one-by-one", "many"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one shard is sent."""

    rate_per_s: float
    seconds: float
    record_bytes: int = 100
    keys: int = 10
    """Partition keys, used in turn."""
    pattern: Pattern = "steady"
    producer: Producer = "one-by-one"
    """``one-by-one``: a put starts when the one before it has ended, as in the published run.
    ``many``: puts do not wait for each other."""

    def __post_init__(self) -> None:
        for name in ("rate_per_s", "seconds", "record_bytes", "keys"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0: {getattr(self, name)}")

    @property
    def until_ms(self) -> float:
        return self.seconds * 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    scheduled_ms: Times
    sent_ms: Times
    written_ms: Times
    """Never goes back: this is the order of the stream."""
    arrival_ms: Times
    """``ApproximateArrivalTimestamp``: whole milliseconds."""
    visible_ms: Times
    """From when GetRecords returns the record."""
    keys: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.arrival_ms)


def scheduled(load: Load, rng: np.random.Generator) -> Times:
    """Send times: evenly spaced, or as a Poisson process over the same time."""
    if load.pattern == "steady":
        return (
            np.arange(round(load.rate_per_s * load.seconds), dtype=np.float64)
            * 1000.0
            / load.rate_per_s
        )
    count = rng.poisson(load.rate_per_s * load.seconds)
    return np.sort(rng.random(count) * load.until_ms)


def arrivals(load: Load, delays: Delays, rng: np.random.Generator) -> Arrivals:
    return arrivals_at(scheduled(load, rng), load, delays, rng)


def arrivals_at(
    scheduled_ms: Times, load: Load, delays: Delays, rng: np.random.Generator
) -> Arrivals:
    """``scheduled_ms`` ascending: for schedules that are neither steady nor Poisson."""
    count = len(scheduled_ms)
    put_ms = _put_ms(delays, count, rng)
    sent_ms = _one_by_one(scheduled_ms, put_ms) if load.producer == "one-by-one" else scheduled_ms
    keys = np.arange(count) % load.keys
    written_ms = sent_ms + put_ms
    if load.producer == "many":
        order = np.argsort(written_ms, kind="stable")
        scheduled_ms, sent_ms, keys = scheduled_ms[order], sent_ms[order], keys[order]
        written_ms = written_ms[order]
    visible_ms = written_ms + delays.visibility_base_ms
    if delays.visibility_mean_ms:
        visible_ms = visible_ms + rng.exponential(delays.visibility_mean_ms, count)
    return Arrivals(
        scheduled_ms=scheduled_ms,
        sent_ms=sent_ms,
        written_ms=written_ms,
        arrival_ms=np.floor(written_ms),
        visible_ms=np.maximum.accumulate(visible_ms),
        keys=keys,
    )


def _put_ms(delays: Delays, count: int, rng: np.random.Generator) -> Times:
    base = np.full(count, float(delays.put_base_ms))
    if delays.put_median_ms == 0:
        return base
    return base + rng.lognormal(math.log(delays.put_median_ms), delays.put_sigma, count)


def _one_by_one(scheduled_ms: Times, put_ms: Times) -> Times:
    """Send times of a producer that waits for each answer: it is late where the puts before it
    took longer than the schedule allows."""
    before_ms = np.concatenate(([0.0], np.cumsum(put_ms)[:-1])) if len(put_ms) else put_ms
    return np.maximum.accumulate(scheduled_ms - before_ms) + before_ms
