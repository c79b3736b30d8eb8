"""One run in the figures that were published, small enough to send between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shardlane_lab.percentile import percentile
from shardlane_lab.simulator.arrivals import Times
from shardlane_lab.simulator.shard_run import ShardRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Exact, by nearest rank, in the unit of the values."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    latency_ms: Mapping[str, Quantiles]
    """Arrival to receive by label; a reader that received nothing is left out."""
    throttled_per_minute: float
    """GetRecords calls that the service refused, all readers together."""
    succeeded_per_minute: float
    surfaced: Mapping[str, int]
    """Throttles past the retries in the whole run, by poller."""
    quota_lowest: Mapping[str, int]
    iterator_age_ms: Mapping[str, float]
    """Mean over invocations, by mapping."""
    missing: int
    """Records that a reader had not received when the model stopped waiting."""


def figures(run: ShardRun) -> Figures:
    throttled = sum(run.per_minute(each.refused_ms) for each in run.readings)
    succeeded = sum(run.per_minute(each.answered_ms) for each in run.readings)
    latencies = {each.reader.label: quantiles(run.latency_ms(each)) for each in run.readings}
    pollers = [each for each in run.readings if each.quota_lowest is not None]
    return Figures(
        latency_ms={label: found for label, found in latencies.items() if found is not None},
        throttled_per_minute=throttled,
        succeeded_per_minute=succeeded,
        surfaced={each.reader.label: len(each.surfaced_ms) for each in pollers},
        quota_lowest={each.reader.label: each.quota_lowest or 0 for each in pollers},
        iterator_age_ms={
            each.reader.label: float(each.iterator_age_ms.mean())
            for each in run.readings
            if len(each.iterator_age_ms)
        },
        missing=sum(run.missing(each) for each in run.readings),
    )


def quantiles(values: Times) -> Quantiles | None:
    """None for no values."""
    if not len(values):
        return None
    ordered = np.sort(values).tolist()
    return Quantiles(
        count=len(ordered),
        p50=percentile(ordered, 50),
        p90=percentile(ordered, 90),
        p99=percentile(ordered, 99),
        max=ordered[-1],
    )
