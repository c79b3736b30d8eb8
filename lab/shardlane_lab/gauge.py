"""How a long-running consumer was doing, second by second: what its ``stats`` said.

A consumer process says one ``gauge`` event a second; a run keeps them in ``gauges.jsonl``, for
plots, and as metrics of its minutes, for dashboards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardlane_lab.metric import Datum, dimensions

if TYPE_CHECKING:
    from shardlane.consumer.stats import Stats

NAMESPACE = "Shardlane/Consumer"
CHANNEL_DEPTH = "channel_depth"
LAG = "lag_ms"
UNSETTLED = "unsettled"
KEYS_ASIDE = "keys_aside"
"""Metric names; the only dimension is ``label``."""

EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One look at one consumer, at ``at_ms`` (epoch milliseconds)."""

    label: str
    at_ms: float
    channel_depth: int
    """Deliveries in the channel, not started."""
    lag_ms: float
    """Of its latest shard: the age of the oldest unsettled record, or how far the reader is
    behind if that is more."""
    unsettled: int = 0
    """Records that arrived and that the checkpoint may not pass yet, all shards together."""
    keys_aside: int = 0
    """Keys that wait for their next attempt."""


def gauge_of(stats: Stats, label: str, at_ms: float) -> Gauge:
    """What ``Subscription.stats`` says, as a gauge of the consumer ``label``."""
    return Gauge(
        label=label,
        at_ms=at_ms,
        channel_depth=stats.channel_depth,
        lag_ms=round(stats.lag_ms, 3),
        unsettled=sum(shard.unsettled for shard in stats.shards),
        keys_aside=stats.keys_aside,
    )


def gauge_data(gauges: Iterable[Gauge]) -> Iterator[Datum]:
    """The same as metrics."""
    for each in gauges:
        where = dimensions(label=each.label)
        for name, value, unit in (
            (CHANNEL_DEPTH, each.channel_depth, "Count"),
            (LAG, each.lag_ms, "Milliseconds"),
            (UNSETTLED, each.unsettled, "Count"),
            (KEYS_ASIDE, each.keys_aside, "Count"),
        ):
            yield Datum(NAMESPACE, name, where, float(value), each.at_ms, unit)


def write_gauges(path: Path, gauges: Iterable[Gauge]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for each in gauges:
            file.write(json.dumps(asdict(each), separators=(",", ":")) + "\n")


def read_gauges(path: Path) -> list[Gauge]:
    """Raises ``ValueError`` naming the line that is damaged."""
    gauges = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values: dict[str, Any] = json.loads(line)
            gauges.append(Gauge(**values))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a gauge: {error}") from error
    return gauges
