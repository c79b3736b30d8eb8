"""Where a mapping starts. Source: ``StartingPosition``, ``CreateEventSourceMapping``, Lambda API
reference; checkpoints: "Polling and batching streams", Lambda Developer Guide."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.checkpoint import After, Since
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from shardlane_lab.virtual_time import EPOCH_MS
from tests.flows.mapping.answers import poison, succeed

SHARD = "shardId-000000000000"


def started_late(trials: MappingTrials, source: str, **options: Any) -> MappingTrial:
    """A trial whose mapping first starts after "early" (at 10 s) and before "late" (at 30 s)."""
    trial = trials(succeed, source=source, start_now=False, **options)
    trial.run(10)
    trial.put("early")
    trial.run(10)
    trial.start()
    trial.run(10)
    trial.put("late")
    trial.settle()
    return trial


@pytest.mark.parametrize(
    ("options", "handled"),
    [
        ({"starting_position": "TRIM_HORIZON"}, ["early", "late"]),
        ({"starting_position": "LATEST"}, ["late"]),
        (
            {
                "starting_position": "AT_TIMESTAMP",
                "starting_timestamp_s": EPOCH_MS / 1000 + 10,
            },
            ["early", "late"],
        ),
        (
            {
                "starting_position": "AT_TIMESTAMP",
                "starting_timestamp_s": EPOCH_MS / 1000 + 10.001,
            },
            ["late"],
        ),
    ],
    ids=["horizon", "latest", "at-arrival", "after-arrival"],
)
def test_starting_position(
    kinesis_mapping: MappingTrials, source: str, options: dict[str, Any], handled: list[str]
) -> None:
    assert started_late(kinesis_mapping, source, **options).handled() == handled


def test_a_restart_goes_on_after_the_checkpoint(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, starting_position="LATEST")
    number = trial.put("a")
    trial.settle()
    assert trial.checkpoints[SHARD] == After(number)
    trial.stop()
    trial.put("while it was stopped")
    trial.run(30)
    trial.start()
    trial.settle()
    assert trial.handled() == ["a", "while it was stopped"]


def test_a_restart_before_the_first_record_skips_nothing(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    """A second start at LATEST would: so the time of the first one is kept."""
    trial = kinesis_mapping(succeed, source=source, starting_position="LATEST")
    trial.run(5)
    assert trial.checkpoints[SHARD] == Since(EPOCH_MS)
    trial.stop()
    trial.put("a")
    trial.run(5)
    trial.start()
    trial.settle()
    assert trial.handled() == ["a"]


def test_a_batch_that_is_interrupted_is_read_again(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(poison("bad"), source=source)
    trial.put_all([("good", "k"), ("bad", "k")])
    trial.run(3.5)
    assert SHARD not in trial.checkpoints
    before = len(trial.handled())
    trial.stop()
    trial.start()
    trial.run(8)
    assert trial.handled()[before : before + 2] == ["good", "bad"]


def test_what_passed_its_retention_while_the_mapping_was_stopped_is_gone(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source)
    trial.put("a")
    trial.settle()
    trial.stop()
    trial.put("trimmed")
    trial.run(86_400 + 60)
    trial.put("kept")
    trial.start()
    trial.settle()
    assert trial.handled() == ["a", "kept"]
