"""The published measurement that every run is set beside: ``data/published-latency.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Range = tuple[float, float]
"""The smallest and the largest of the published minutes."""

_SECONDS = 600.0
"""Both rounds: "5 records/s for 10 minutes"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRound:
    """One round. All latencies are milliseconds; what was not published is not in the mappings."""

    name: str
    """``1`` or ``2``."""
    pollers: int
    """How many boto3 ``get_records`` pollers read the shard."""
    records: int | None
    """Received by every consumer."""
    missing: int | None
    duplicates: int | None
    arrival_to_receive: Mapping[str, Mapping[str, float]]
    """By consumer label, then ``min``, ``p50``, ``p90``, ``p99`` or ``max``."""
    send_to_arrival: Mapping[str, float]
    """``p50``, ``p90``, ``p99``, and ``first_record`` apart."""
    send_to_receive_p50: Mapping[str, float]
    records_in_batches_of: Mapping[str, Mapping[int, int]]
    """By label, then by batch size. Only the most frequent sizes were published."""
    largest_batch: Mapping[str, int]
    surfaced_throttles: Mapping[str, int]
    per_minute: Mapping[str, Range]
    """CloudWatch's figures, by the names of the file, e.g. ``GetRecords.Success_sum``."""
    seconds: float
    """How long it sent; counts of a run of another length have no ratio to these."""
    subscribe_successes: str
    """In words: how often an EFO consumer subscribed."""
    subscribe_refusals: float | None
    behind_latest_max_ms: float | None


NOTHING_PUBLISHED = PublishedRound(
    name="",
    pollers=0,
    records=None,
    missing=None,
    duplicates=None,
    arrival_to_receive={},
    send_to_arrival={},
    send_to_receive_p50={},
    records_in_batches_of={},
    largest_batch={},
    surfaced_throttles={},
    per_minute={},
    seconds=0.0,
    subscribe_successes="",
    subscribe_refusals=None,
    behind_latest_max_ms=None,
)
"""Stands beside a run that reproduces no round."""


@cache
def published_rounds() -> Mapping[str, PublishedRound]:
    """The rounds by name."""
    text = files("shardlane_lab.data").joinpath("published-latency.json").read_text("utf-8")
    document = json.loads(text)
    fan_out = document["efo_observations"]
    return {name: _round_from(name, values, fan_out) for name, values in document["rounds"].items()}


def published_round(name: str) -> PublishedRound:
    """Raises ``ValueError`` naming the rounds that there are."""
    rounds = published_rounds()
    if name not in rounds:
        raise ValueError(f"no published round {name!r}; there are {', '.join(sorted(rounds))}")
    return rounds[name]


def _round_from(name: str, values: dict[str, Any], fan_out: dict[str, Any]) -> PublishedRound:
    batches: dict[str, dict[str, Any]] = values.get("batch_sizes", {})
    return PublishedRound(
        name=name,
        pollers=values["get_records_pollers"],
        records=values.get("records"),
        missing=values.get("missing"),
        duplicates=values.get("duplicates"),
        arrival_to_receive=values["arrival_to_receive"],
        send_to_arrival=values.get("send_to_arrival", {}),
        send_to_receive_p50=values.get("send_to_receive_p50", {}),
        records_in_batches_of={
            label: {int(size): records for size, records in each["records_in_batches_of"].items()}
            for label, each in batches.items()
        },
        largest_batch={
            label: each["largest"] for label, each in batches.items() if "largest" in each
        },
        surfaced_throttles=values.get("surfaced_throttles", {}),
        per_minute={
            metric: (low, high) for metric, (low, high) in values["cloudwatch_per_minute"].items()
        },
        seconds=_SECONDS,
        subscribe_successes=fan_out["SubscribeToShard.Success"],
        subscribe_refusals=fan_out["SubscribeToShard.RateExceeded"],
        behind_latest_max_ms=fan_out["SubscribeToShardEvent.MillisBehindLatest_max"],
    )
