"""The setting of a poison run, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from shardlane_lab.percentile import percentile

Policy = Literal["none", "park", "stop", "powertools"]
"""``none``: nothing is poison, and the policy is ``park``. ``powertools``: its
``BatchProcessor``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonSetting:
    """A busy shard. The mapping has the service's defaults and takes partial responses."""

    keys: int = 1_000
    records_per_s: int = 200
    """Of all keys together; a shard takes 1,000."""
    seconds: float = 120.0
    """How long records are put."""
    poison_from_s: float = 20.0
    """The first record put from then on is poison, and so are all later ones of its key …"""
    fixed_s: float = 80.0
    """… until the handler is fixed. What was parked is redriven then."""
    everything: bool = False
    """Whether from ``poison_from_s`` to ``fixed_s`` every record fails: an outage, not poison."""
    work_ms: float = 1.0
    """What the handler takes for one record, handled or not."""
    attempts: int = 3
    """Of a record in one invocation, under ``park``."""
    batch_size: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.poison_from_s < self.fixed_s <= self.seconds:
            raise ValueError(
                f"poison_from_s={self.poison_from_s}, fixed_s={self.fixed_s}, seconds="
                f"{self.seconds}: allowed is 0 <= poison_from_s < fixed_s <= seconds"
            )
        if self.keys < 1 or not 1 <= self.records_per_s <= 1_000:
            raise ValueError(
                f"keys={self.keys}, records_per_s={self.records_per_s}: allowed is 1 key or more "
                "and 1 to 1000 records a second, which is what a shard takes"
            )


@dataclass(frozen=True, slots=True)
class HandledRecord:
    """One record that was put; seconds count from the start of the run."""

    index: int
    """Its place in the stream, from 0."""
    key: str
    arrival_s: float
    done_s: float
    """When its handler first succeeded."""
    calls: int
    """How often its handler was called; more than once are failures or repetitions."""
    effects: int
    """How often its handler succeeded; more than once are duplicates."""

    @property
    def delay_ms(self) -> float:
        """From arrival to handled."""
        return (self.done_s - self.arrival_s) * 1_000.0


@dataclass(frozen=True)
class PoisonRun:
    """Every record that was put, in stream order, and how it fared."""

    policy: Policy
    seed: int
    setting: PoisonSetting
    poison_key: str
    """The key that is poison, or would be under the policy ``none``."""
    records: tuple[HandledRecord, ...]
    inversions: int
    """Starts of a record while an earlier one of its key had not been handled yet."""
    most_quarantined: int
    """Keys in quarantine at once; 0 for policies that never park."""

    @cached_property
    def delays_ms(self) -> Mapping[str, tuple[float, ...]]:
        """By key, in stream order."""
        by_key: dict[str, list[float]] = {}
        for record in self.records:
            by_key.setdefault(record.key, []).append(record.delay_ms)
        return {key: tuple(delays) for key, delays in by_key.items()}

    @property
    def others(self) -> Iterable[HandledRecord]:
        """The records of every other key than the poison one."""
        return (record for record in self.records if record.key != self.poison_key)

    def others_delay_ms(self, percent: float) -> float:
        """A percentile (exact, nearest rank) over the records of all keys but the poison one."""
        return percentile(sorted(record.delay_ms for record in self.others), percent)

    @property
    def duplicates(self) -> int:
        """Effects beyond the first of each record."""
        return sum(record.effects - 1 for record in self.records)
