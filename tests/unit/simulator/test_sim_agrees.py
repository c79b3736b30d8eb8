"""The fast model and the local service in virtual time are two programs of one mechanism, and find
the same figures."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from shardlane_lab.simulator.figures import Figures, Quantiles, quantiles
from shardlane_lab.simulator.parameters import H0
from shardlane_lab.simulator.seeds import run_seeds
from shardlane_lab.simulator.validate import round_setting
from tests.unit.simulator.virtual_round import VirtualRound

pytestmark = pytest.mark.slow(
    "two rounds of ten minutes on the local service, for the retry quota drains in the seventh only"
)

SECONDS = 600.0
POLLERS = [f"boto3-get-records-{number}" for number in (1, 2, 3)]
COMPARED = [
    ("lambda-efo", "p50", 0.03),
    ("lambda-efo", "p90", 0.03),
    ("lambda-efo", "p99", 0.03),
    ("lambda-standard", "p50", 0.05),
    ("lambda-standard", "p90", 0.05),
    ("pollers", "p50", 0.15),
    ("pollers", "p90", 0.15),
    ("pollers", "p99", 0.35),
]
"""Consumer, percentile, and how far two seeds of the one may lie from thirty of the other."""


@pytest.fixture(scope="module")
def service() -> list[VirtualRound]:
    """Round 2 on the local service: two seeds of ten minutes."""
    rounds = [VirtualRound(pollers=3, seconds=SECONDS, seed=seed) for seed in (0, 1)]
    for each in rounds:
        each.run()
    return rounds


@pytest.fixture(scope="module")
def model() -> list[Figures]:
    return run_seeds(round_setting("2", H0), range(30))


def of(found: dict[str, Quantiles], label: str, name: str) -> float:
    """The three pollers count as one: neither program tells them apart."""
    labels = POLLERS if label == "pollers" else [label]
    return median(float(getattr(found[each], name)) for each in labels)


def summary(played: VirtualRound) -> dict[str, Quantiles]:
    found = {label: quantiles(np.array(values)) for label, values in played.latency_ms.items()}
    return {label: each for label, each in found.items() if each is not None}


@pytest.mark.parametrize(("label", "name", "apart"), COMPARED)
def test_latencies(
    service: list[VirtualRound], model: list[Figures], label: str, name: str, apart: float
) -> None:
    played = median(of(summary(each), label, name) for each in service)
    modelled = median(of(dict(each.latency_ms), label, name) for each in model)
    assert played == pytest.approx(modelled, rel=apart)


def test_everybody_has_everything(service: list[VirtualRound]) -> None:
    for each in service:
        assert {len(values) for values in each.latency_ms.values()} == {3000}


def test_throttles_and_what_surfaces_of_them(
    service: list[VirtualRound], model: list[Figures]
) -> None:
    """Both drain the retry quota in about the same minute."""
    throttled = median(each.throttled_per_minute for each in service)
    surfaced = median(each.surfaced for each in service)
    assert throttled == pytest.approx(median(each.throttled_per_minute for each in model), rel=0.15)
    assert surfaced == pytest.approx(
        median(sum(each.surfaced.values()) for each in model), rel=0.25
    )
