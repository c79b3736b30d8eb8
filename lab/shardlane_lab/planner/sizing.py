"""How many shards a load needs, and what the busiest of them carries."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from shardlane_lab.local_kinesis.hash_key import SPACE, hash_key
from shardlane_lab.planner.question import PlanError, Question
from shardlane_lab.simulator.arrivals import Load

WRITE_RECORDS_PER_S = 1000.0
WRITE_BYTES_PER_S = 1024.0 * 1024.0
"""Of one shard ("Quotas and limits", Kinesis Data Streams Developer Guide)."""
HEADROOM = 0.8
"""A shard is planned to be this full at most; a stream at its limit throttles every burst."""
BUSY = 0.7
"""Handlers are planned to be this busy at most; a queue grows without bound towards 1."""
MAX_PARALLELIZATION = 10
"""ParallelizationFactor (CreateEventSourceMapping, Lambda API Reference)."""
HANDLERS = BUSY * MAX_PARALLELIZATION
"""What a shard's records may keep busy."""
ON_DEMAND_LEAST = 4
ON_DEMAND_ROOM = 2.0
"""An on-demand stream starts with room for 4 MiB/s, and grows to twice its peak of 30 days
("On-demand mode", Kinesis Data Streams Developer Guide): the shards that this takes."""
COUNTED_KEYS = 20_000
"""Above this many keys every shard is taken to get the same share."""
TRIED_SHARDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    shards: int
    busiest_share: float
    """Of the whole load, on the busiest shard."""
    busiest_keys: int
    rate_per_s: float
    """Of the busiest shard."""
    bytes_per_s: float
    """Of the busiest shard."""

    @property
    def write_utilisation(self) -> float:
        """Of the busiest shard: the larger one of records and bytes."""
        return max(self.rate_per_s / WRITE_RECORDS_PER_S, self.bytes_per_s / WRITE_BYTES_PER_S)

    def load(self, question: Question, seconds: float) -> Load:
        """What the busiest shard is sent: records at random moments, by many producers."""
        return Load(
            rate_per_s=self.rate_per_s,
            seconds=seconds,
            record_bytes=question.record_bytes,
            keys=self.busiest_keys,
            pattern="poisson",
            producer="many",
        )


def size(question: Question) -> Sizing:
    """With the shards asked for, or the fewest that keep the busiest one under ``HEADROOM`` and
    its handlers within what ParallelizationFactor allows.

    Raises ``PlanError`` if no number of shards can: one key is always on one shard.
    """
    places = _places(question.keys)
    if question.shards is not None:
        return _sized(question, question.shards, places)
    demand = _demand(question)
    if demand / question.keys > 1:
        raise PlanError(
            f"keys is {question.keys}: each carries {question.rate_per_s / question.keys:,.0f} "
            f"records/s and {question.bytes_per_s / question.keys / WRITE_BYTES_PER_S:.2f} MiB/s, "
            "and one key is on one shard, which takes 1,000 records/s and 1 MiB/s: "
            "spread the load over more keys"
        )
    handlers = question.rate_per_s * question.handler_ms / 1000.0
    fewest = max(1, math.ceil(demand / HEADROOM), math.ceil(handlers / HANDLERS))
    for shards in range(fewest, fewest + TRIED_SHARDS):
        sized = _sized(question, shards, places)
        busy = sized.rate_per_s * question.handler_ms / 1000.0
        if sized.write_utilisation <= HEADROOM and busy <= HANDLERS:
            return sized
    return _sized(question, fewest, places)


def size_on_demand(question: Question) -> Sizing:
    """With the shards that the service would choose; nobody else can."""
    shards = max(ON_DEMAND_LEAST, math.ceil(ON_DEMAND_ROOM * _demand(question)))
    return _sized(question, shards, _places(question.keys))


def _demand(question: Question) -> float:
    """Shards' worth of writing."""
    return max(question.rate_per_s / WRITE_RECORDS_PER_S, question.bytes_per_s / WRITE_BYTES_PER_S)


def _places(keys: int) -> list[int] | None:
    """Hash keys of ``key-0``, ``key-1`` …, sorted; None if there are too many to matter."""
    if keys > COUNTED_KEYS:
        return None
    return sorted(hash_key(f"key-{number}") for number in range(keys))


def _sized(question: Question, shards: int, places: list[int] | None) -> Sizing:
    if places is None:
        busiest_keys = -(-question.keys // shards)
    else:
        ends = [SPACE * part // shards for part in range(1, shards + 1)]
        counted = [0, *(bisect_right(places, end - 1) for end in ends)]
        busiest_keys = max(high - low for low, high in pairwise(counted))
    share = busiest_keys / question.keys
    return Sizing(
        shards=shards,
        busiest_share=share,
        busiest_keys=busiest_keys,
        rate_per_s=question.rate_per_s * share,
        bytes_per_s=question.bytes_per_s * share,
    )
