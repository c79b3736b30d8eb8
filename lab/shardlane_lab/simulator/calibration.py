"""Where the fitted values come from: what Round 1 alone says about each of them.

For every value, Round 1 is run with it and with its neighbours, everything else unchanged, and
scored by how far the medians over the seeds lie from the published figures, in standard
deviations over the seeds. The values themselves are ``Delays.measured()`` and
``PollTiming.measured()``; this shows that each is among the best that Round 1 allows, or that it
is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, pstdev
from typing import Any

from shardlane_lab.published import published_round
from shardlane_lab.simulator.figures import Figures
from shardlane_lab.simulator.parameters import H0, Parameters
from shardlane_lab.simulator.seeds import Setting, run_settings
from shardlane_lab.simulator.validate import round_setting

SEEDS = 20
FLOOR = 0.005
"""Published figures are of one run each: no deviation under half a percent is told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """One fitted value: where it stands, what else was tried, and what it is judged by."""

    group: str
    """``delays``, ``polling`` or ``retries`` of ``Parameters``."""
    name: str
    unit: str
    candidates: tuple[float, ...]
    label: str
    """The consumer of Round 1 whose percentiles it moves …"""
    statistics: tuple[str, ...]
    """… and which ones."""

    def value(self, parameters: Parameters) -> float:
        return float(getattr(getattr(parameters, self.group), self.name))

    def with_value(self, parameters: Parameters, value: float) -> Parameters:
        changed: Any = replace(getattr(parameters, self.group), **{self.name: value})
        whole: dict[str, Any] = {self.group: changed}
        return replace(parameters, **whole)


_POLLER, _STANDARD = "boto3-get-records", "lambda-standard"
_LAMBDA_EFO, _BOTO3_EFO = "lambda-efo", "boto3-efo"

FITTED = (
    Fitted(
        group="delays",
        name="visibility_base_ms",
        unit="ms",
        candidates=(11, 16, 21, 26, 31),
        label=_POLLER,
        statistics=("p50",),
    ),
    Fitted(
        group="polling",
        name="interval_s",
        unit="s",
        candidates=(0.9, 0.95, 0.995, 1.05),
        label=_STANDARD,
        statistics=("p50", "p90"),
    ),
    Fitted(
        group="polling",
        name="hiccup_probability",
        unit="",
        candidates=(0.0, 0.01, 0.02, 0.03, 0.04),
        label=_STANDARD,
        statistics=("p99", "max"),
    ),
    Fitted(
        group="polling",
        name="hiccup_mean_s",
        unit="s",
        candidates=(0.4, 0.6, 0.85, 1.1),
        label=_STANDARD,
        statistics=("p99", "max"),
    ),
    Fitted(
        group="delays",
        name="push_base_ms",
        unit="ms",
        candidates=(14, 16, 17.5, 19),
        label=_LAMBDA_EFO,
        statistics=("p50", "p90", "p99"),
    ),
    Fitted(
        group="delays",
        name="push_spread_ms",
        unit="ms",
        candidates=(96, 99, 102, 105),
        label=_LAMBDA_EFO,
        statistics=("p50", "p90", "p99"),
    ),
    Fitted(
        group="delays",
        name="push_client_ms",
        unit="ms",
        candidates=(3.5, 5.5, 7.5, 9.5),
        label=_BOTO3_EFO,
        statistics=("p50", "p90"),
    ),
    Fitted(
        group="delays",
        name="push_client_tail_share",
        unit="",
        candidates=(0.0, 0.04, 0.08, 0.12),
        label=_BOTO3_EFO,
        statistics=("p99",),
    ),
    Fitted(
        group="retries",
        name="backoff_factor",
        unit="",
        candidates=(1.0, 1.15, 1.29, 1.4, 1.55),
        label=_POLLER,
        statistics=("p50", "p90", "p99", "max"),
    ),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """Round 1's opinion of one value: a score for every candidate, smaller is better."""

    fitted: Fitted
    used: float
    scores: Mapping[float, float]

    @property
    def best(self) -> float:
        return min(self.scores, key=lambda value: self.scores[value])


def profiles(
    seeds: int = SEEDS,
    *,
    processes: int | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[Profile]:
    """One for each fitted value, from Round 1 with botocore's own backoff (H0)."""
    tried = [(fitted, value) for fitted in FITTED for value in fitted.candidates]
    settings = [_setting(fitted, value) for fitted, value in tried]
    runs = run_settings(settings, seeds, processes=processes, on_progress=on_progress)
    scores: dict[str, dict[float, float]] = {fitted.name: {} for fitted in FITTED}
    for (fitted, value), found in zip(tried, runs, strict=True):
        scores[fitted.name][value] = score(found, fitted)
    return [Profile(each, each.value(H0), scores[each.name]) for each in FITTED]


def _setting(fitted: Fitted, value: float) -> Setting:
    """Round 1 with this value, and only those readers that can make a difference to it."""
    whole = round_setting("1", fitted.with_value(H0, value))
    judged = next(reader for reader in whole.readers if reader.label == fitted.label)
    together = tuple(reader for reader in whole.readers if reader.shares_reads)
    return replace(whole, readers=together if judged.shares_reads else (judged,))


def score(found: Sequence[Figures], fitted: Fitted) -> float:
    """Mean square deviation from Round 1, in standard deviations over the seeds."""
    published = published_round("1").arrival_to_receive[fitted.label]
    total = 0.0
    for name in fitted.statistics:
        logs = [math.log(getattr(each.latency_ms[fitted.label], name)) for each in found]
        away = median(logs) - math.log(published[name])
        total += (away / max(pstdev(logs), FLOOR)) ** 2
    return total / len(fitted.statistics)
