"""The fast model and a run of the product's own code in virtual time are two programs of one
mechanism, and find the same figures."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from shardlane_lab import experiment_file
from shardlane_lab.progress import Progress
from shardlane_lab.run_record import Run
from shardlane_lab.simulated.run import SimulatedRun
from shardlane_lab.simulator.figures import Figures, Quantiles, quantiles
from shardlane_lab.simulator.parameters import H0
from shardlane_lab.simulator.seeds import run_seeds
from shardlane_lab.simulator.validate import round_setting
from shardlane_lab.virtual_time import run_virtual

pytestmark = pytest.mark.slow(
    "two rounds of ten minutes of the product's own code: the retry quota drains in the seventh"
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
def service() -> list[Run]:
    """Round 2 on the product's own code: two seeds of ten minutes."""
    return [round_2(seed) for seed in (1, 2)]


def round_2(seed: int) -> Run:
    described = experiment_file.load(experiment_file.find("round-2"))
    seeded = described.service.model_copy(update={"seed": seed})
    with Progress("round-2") as progress:
        simulated = SimulatedRun(described.model_copy(update={"service": seeded}), progress)
        run_virtual(simulated.run())
    return simulated.result()


@pytest.fixture(scope="module")
def model() -> list[Figures]:
    return run_seeds(round_setting("2", H0), range(30))


def of(found: dict[str, Quantiles], label: str, name: str) -> float:
    """The three pollers count as one: neither program tells them apart."""
    labels = POLLERS if label == "pollers" else [label]
    return median(float(getattr(found[each], name)) for each in labels)


def summary(played: Run) -> dict[str, Quantiles]:
    latency_ms: dict[str, list[float]] = {}
    for sample in played.samples:
        latency_ms.setdefault(sample.label, []).append(sample.arrival_to_receive_ms)
    found = {label: quantiles(np.array(values)) for label, values in latency_ms.items()}
    return {label: each for label, each in found.items() if each is not None}


def throttled_per_minute(played: Run) -> float:
    rows = [row for row in played.statistics if row.name == "ReadProvisionedThroughputExceeded"]
    return sum(row.sum for row in rows if row.minute < SECONDS / 60) * 60 / SECONDS


def surfaced(played: Run) -> int:
    return sum(each.surfaced_throttles for each in played.record.consumers)


@pytest.mark.parametrize(("label", "name", "apart"), COMPARED)
def test_latencies(
    service: list[Run], model: list[Figures], label: str, name: str, apart: float
) -> None:
    played = median(of(summary(each), label, name) for each in service)
    modelled = median(of(dict(each.latency_ms), label, name) for each in model)
    assert played == pytest.approx(modelled, rel=apart)


def test_everybody_has_everything(service: list[Run]) -> None:
    for each in service:
        assert each.record.complete
        assert len(each.samples) == 6 * 3000


def test_throttles_and_what_surfaces_of_them(service: list[Run], model: list[Figures]) -> None:
    """Both drain the retry quota in about the same minute."""
    throttled = median(throttled_per_minute(each) for each in service)
    assert throttled == pytest.approx(median(each.throttled_per_minute for each in model), rel=0.15)
    assert median(surfaced(each) for each in service) == pytest.approx(
        median(sum(each.surfaced.values()) for each in model), rel=0.25
    )
