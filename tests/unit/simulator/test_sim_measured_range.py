"""What is an extrapolation is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardlane_lab import experiment_file
from shardlane_lab.simulator.arrivals import Load
from shardlane_lab.simulator.from_experiment import load_of, readers_of
from shardlane_lab.simulator.measured_range import outside
from shardlane_lab.simulator.reader import Handling, MappingParameters, Reader

LOAD = Load(rate_per_s=5, seconds=600)
POLLER = Reader(label="p", kind="boto3-get-records")
STANDARD = Reader(label="s", kind="lambda-standard")
EFO = Reader(label="e", kind="lambda-efo")


@pytest.mark.parametrize("name", ["round-1", "round-2"])
def test_the_published_rounds_are_inside(name: str) -> None:
    described = experiment_file.load(experiment_file.find(name))
    assert outside(load_of(described), readers_of(described)) == []


@pytest.mark.parametrize(
    ("readers", "clause"),
    [
        ([POLLER] * 4 + [STANDARD], "more than 3 pollers"),
        ([POLLER] * 2, "several pollers without a standard mapping beside them"),
        ([EFO] * 3, "more than 2 EFO consumers"),
        ([STANDARD] * 2, "more than 1 standard mapping"),
        ([replace(POLLER, interval_ms=750)], "polls not every 200 ms"),
        ([replace(EFO, handling=Handling(per_record_ms=1))], "a handler that takes time"),
        ([replace(EFO, mapping=MappingParameters(parallelization=2))], "ParallelizationFactor"),
        ([replace(EFO, mapping=MappingParameters(window_ms=1))], "a batch window"),
    ],
)
def test_readers_outside(readers: list[Reader], clause: str) -> None:
    assert outside(LOAD, readers) == [clause]


def test_load_outside() -> None:
    load = replace(LOAD, rate_per_s=10, record_bytes=10_000)
    assert outside(load, [POLLER], shards=2, region="eu-west-1") == [
        "a rate other than 5 records/s a shard",
        "byte limits",
        "more than one shard",
        "a region other than ap-northeast-1",
    ]
