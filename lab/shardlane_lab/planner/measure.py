"""Runs the simulator for an option's groups and boils the seeds down to bands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from shardlane_lab.planner.option import Group, Option
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import Sizing
from shardlane_lab.simulator.arrivals import Load, Times
from shardlane_lab.simulator.figures import Quantiles, quantiles
from shardlane_lab.simulator.model import simulate_shard
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.reading import Reading
from shardlane_lab.simulator.shard_run import ShardRun

SECONDS = 600.0
"""Long enough for a retry quota to drain; what the published rounds lasted."""
FEW_RECORDS = 100
MOST_SECONDS = 7_200.0
"""A trickle is run longer, until it has had ``FEW_RECORDS`` or two hours have passed."""
PUSHED_RECORDS = 20_000
"""Enhanced fan-out has no memory of that kind: a busy shard is run for fewer seconds."""
SAMPLED_PER_S = 50.0
"""Polls see a busier shard through so many records a second, each standing for several."""


@dataclass(frozen=True, slots=True)
class Band:
    """One figure over the seeds."""

    median: float
    low: float
    high: float
    """The smallest and the largest of the seeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """One group of an option on the busiest shard, all its consumers together."""

    received_ms: dict[str, Band]
    """Arrival to receipt: ``p50``, ``p90``, ``p99``."""
    handled_ms: dict[str, Band]
    """Arrival to the end of handling."""
    throttled_per_minute: float
    """Refused calls of the group."""
    surfaced_per_hour: float
    """Throttles past the SDK's retries, of one consumer."""
    quota_lowest: int | None
    """Retry tokens at the worst moment, of 500; None unless it polls through boto3."""
    iterator_age_ms: float | None
    """None unless it is a mapping."""
    invocations_per_s: float
    """Of the group's functions on all shards."""
    busy_ms: float
    """Duration of one invocation on average."""
    missing: int
    """Records that were not received half an hour after the last one was sent."""

    @property
    def concurrency(self) -> float:
        """Invocations that run at once, on average."""
        return self.invocations_per_s * self.busy_ms / 1000.0


class Measurer:
    """Measures options of one question; what two options have in common is run once."""

    def __init__(
        self,
        question: Question,
        sizing: Sizing,
        parameters: Parameters,
        seeds: int,
        on_run: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_run`` is called after every run of the simulator."""
        self._question = question
        self._sizing = sizing
        self._parameters = parameters
        self._seeds = seeds
        self._on_run = on_run
        self._known: dict[tuple[Group, ...], dict[Group, GroupFigures]] = {}

    def measure(self, option: Option) -> list[GroupFigures]:
        """Figures of each group, in the option's order."""
        sharing = tuple(group for group in option.groups if not group.fans_out)
        found = self._run(sharing) if sharing else {}
        for group in option.groups:
            if group.fans_out:
                found = found | self._run((group,))
        return [found[group] for group in option.groups]

    def _run(self, groups: tuple[Group, ...]) -> dict[Group, GroupFigures]:
        # Every EFO consumer has a push of its own: one stands for all, however many there are.
        alike = tuple(replace(group, count=1) if group.fans_out else group for group in groups)
        if alike not in self._known:
            self._known[alike] = self._simulated(alike)
        measured = zip(groups, self._known[alike].values(), strict=True)
        return {group: _times(figures, group) for group, figures in measured}

    def _simulated(self, groups: tuple[Group, ...]) -> dict[Group, GroupFigures]:
        load, parameters, scale = self._load(groups)
        readers = [reader for group in groups for reader in _scaled(group, scale).readers()]
        sample: dict[Group, list[_Seed]] = {group: [] for group in groups}
        for seed in range(self._seeds):
            run = simulate_shard(load, readers, parameters, seed)
            self._on_run()
            for group in groups:
                sample[group].append(_Seed(run, _of(run, group)))
        share = self._sizing.busiest_share
        return {group: _figures(group, seeds, share) for group, seeds in sample.items()}

    def _load(self, groups: Sequence[Group]) -> tuple[Load, Parameters, float]:
        """The load to run, and how many records of the real one each of its records is."""
        rate = self._sizing.rate_per_s
        seconds = min(max(SECONDS, FEW_RECORDS / rate), MOST_SECONDS)
        if all(group.fans_out for group in groups):
            seconds = min(seconds, PUSHED_RECORDS / rate)
            return self._sizing.load(self._question, seconds), self._parameters, 1.0
        scale = max(1.0, rate / SAMPLED_PER_S)
        whole = self._sizing.load(self._question, seconds)
        load = replace(
            whole,
            rate_per_s=rate / scale,
            record_bytes=max(1, round(whole.record_bytes * scale)),
        )
        limits = self._parameters.limits
        limits = replace(limits, records_per_read=max(1, round(limits.records_per_read / scale)))
        return load, replace(self._parameters, limits=limits), scale


@dataclass(frozen=True, slots=True)
class _Seed:
    run: ShardRun
    readings: list[Reading]

    def all(self, values: Callable[[Reading], Times]) -> Times:
        return np.concatenate([values(reading) for reading in self.readings])


def _scaled(group: Group, scale: float) -> Group:
    return replace(
        group,
        handler_ms=group.handler_ms * scale,
        batch_size=max(1, round(group.batch_size / scale)),
    )


def _times(figures: GroupFigures, group: Group) -> GroupFigures:
    """The one EFO consumer that was run, for all of its group."""
    if not group.fans_out:
        return figures
    return replace(figures, invocations_per_s=figures.invocations_per_s * group.count)


def _of(run: ShardRun, group: Group) -> list[Reading]:
    return [reading for reading in run.readings if reading.reader.kind == group.kind]


def _figures(group: Group, seeds: Sequence[_Seed], share: float) -> GroupFigures:
    received = [quantiles(seed.all(seed.run.latency_ms)) for seed in seeds]
    handled = [quantiles(seed.all(seed.run.handled_ms)) for seed in seeds]
    durations = [seed.all(lambda reading: reading.duration_ms) for seed in seeds]
    ages = [seed.all(lambda reading: reading.iterator_age_ms) for seed in seeds]
    hours = seeds[0].run.load.seconds / 3600.0
    quotas = [
        reading.quota_lowest
        for seed in seeds
        for reading in seed.readings
        if reading.quota_lowest is not None
    ]
    return GroupFigures(
        received_ms=_bands(received),
        handled_ms=_bands(handled),
        throttled_per_minute=_mean(
            sum(seed.run.per_minute(reading.refused_ms) for reading in seed.readings)
            for seed in seeds
        ),
        surfaced_per_hour=_mean(
            len(reading.surfaced_ms) / hours for seed in seeds for reading in seed.readings
        ),
        quota_lowest=round(median(quotas)) if quotas else None,
        iterator_age_ms=_mean(float(each.mean()) for each in ages if len(each))
        if group.is_mapping
        else None,
        invocations_per_s=_mean(
            sum(seed.run.per_minute(reading.invoked_ms) for reading in seed.readings) / 60.0
            for seed in seeds
        )
        / share,
        busy_ms=_mean(float(each.mean()) for each in durations if len(each))
        if group.is_mapping
        else 0.0,
        missing=sum(seed.run.missing(reading) for seed in seeds for reading in seed.readings),
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(sum(listed) / len(listed)) if listed else 0.0


def _bands(seeds: Sequence[Quantiles | None]) -> dict[str, Band]:
    """No band for a load so small that nothing came."""
    found = [each for each in seeds if each is not None]
    if not found:
        return {}
    return {
        name: Band(
            median(getattr(each, name) for each in found),
            min(getattr(each, name) for each in found),
            max(getattr(each, name) for each in found),
        )
        for name in ("p50", "p90", "p99")
    }
