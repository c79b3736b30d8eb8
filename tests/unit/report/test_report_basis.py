"""Which cells are calibrated, predicted, measured or local."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.report.basis import basis, latency_basis
from shardlane_lab.report.compared import STATISTICS, Basis, Statistic
from shardlane_lab.run_record import Kind, RunRecord, Target
from tests.unit.report.seeded_run import seeded_run


def record(target: Target, delays: str | None) -> RunRecord:
    environment: dict[str, Any] = {} if delays is None else {"delays": delays}
    return seeded_run(seconds=1, target=target, environment=environment).record


@pytest.mark.parametrize("target", ["local", "simulated"])
@pytest.mark.parametrize(
    ("kind", "calibrated"),
    [
        ("lambda-efo", set(STATISTICS)),
        ("boto3-efo", set(STATISTICS)),
        ("lambda-standard", {"p99", "max"}),
        ("boto3-get-records", set()),
    ],
)
def test_drawn_delays_are_calibrated_and_the_rest_is_predicted(
    target: Target, kind: Kind, calibrated: set[Statistic]
) -> None:
    run = record(target, "measured")
    found = {name for name in STATISTICS if latency_basis(run, kind, name) == "calibrated"}
    assert found == calibrated
    others = {latency_basis(run, kind, name) for name in set(STATISTICS) - calibrated}
    assert others <= {"predicted"}


@pytest.mark.parametrize(
    ("target", "delays", "expected"),
    [
        ("aws", None, "measured"),
        ("aws", "measured", "measured"),
        ("local", "none", "local"),
        ("local", None, "local"),
        ("local", "custom", "local"),
        ("simulated", "none", "local"),
    ],
)
@pytest.mark.parametrize("drawn", [True, False])
def test_without_the_published_delays_nothing_is_calibrated(
    target: Target, delays: str | None, expected: Basis, drawn: bool
) -> None:
    assert basis(record(target, delays), drawn=drawn) == expected
