"""How full a long-running consumer's channel was, and how late the consumer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from shardlane_lab.gauge import Gauge
from shardlane_lab.percentile import percentile
from shardlane_lab.run_record import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeSummary:
    """Over all looks at one consumer, about one a second. Times in milliseconds."""

    label: str
    looks: int
    depth_mean: float
    """Deliveries in the channel, not started."""
    depth_max: int
    lag_p50_ms: float
    """Of the latest shard."""
    lag_p99_ms: float
    lag_max_ms: float
    unsettled_max: int
    """Records that the checkpoint could not pass yet."""
    keys_aside_max: int
    """Keys that waited for their next attempt."""


def gauges_by_label(run: Run) -> dict[str, list[Gauge]]:
    """Of consumers that the run record names, in its order; each in the order of time."""
    found: defaultdict[str, list[Gauge]] = defaultdict(list)
    for gauge in sorted(run.gauges, key=lambda each: each.at_ms):
        found[gauge.label].append(gauge)
    labels = [consumer.label for consumer in run.record.consumers]
    return {label: found[label] for label in labels if label in found}


def gauge_summaries(run: Run) -> tuple[GaugeSummary, ...]:
    """Consumers that say nothing about themselves (functions, bare loops) have none."""
    return tuple(_summary(label, gauges) for label, gauges in gauges_by_label(run).items())


def _summary(label: str, gauges: Sequence[Gauge]) -> GaugeSummary:
    lags_ms = sorted(each.lag_ms for each in gauges)
    depths = [each.channel_depth for each in gauges]
    return GaugeSummary(
        label=label,
        looks=len(gauges),
        depth_mean=sum(depths) / len(depths),
        depth_max=max(depths),
        lag_p50_ms=percentile(lags_ms, 50),
        lag_p99_ms=percentile(lags_ms, 99),
        lag_max_ms=lags_ms[-1],
        unsettled_max=max(each.unsettled for each in gauges),
        keys_aside_max=max(each.keys_aside for each in gauges),
    )
