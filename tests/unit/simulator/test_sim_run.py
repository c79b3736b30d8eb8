"""A simulated run leaves the files of any other run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardlane_lab import experiment_file
from shardlane_lab.experiment import Experiment
from shardlane_lab.run_record import Run, read_run, write_run
from shardlane_lab.simulator.parameters import H1
from shardlane_lab.simulator.run import simulate


def described(name: str, seconds: float = 130) -> Experiment:
    whole = experiment_file.load(experiment_file.find(name))
    return whole.model_copy(update={"seconds": seconds})


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(described("round-2"), seed=3)


def total(run: Run, name: str, **dimensions: str) -> float:
    wanted = tuple(sorted(dimensions.items()))
    return sum(row.sum for row in run.statistics if (row.name, row.dimensions) == (name, wanted))


def test_the_files_of_a_seed_are_always_the_same(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_run(tmp_path / name, simulate(described("round-1", 30), seed=9))
    for file in ("run.json", "samples.jsonl", "metrics.jsonl"):
        first, second = ((tmp_path / name / file).read_bytes() for name in ("first", "second"))
        assert first == second
        assert first


def test_what_is_written_can_be_read(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, run)
    again = read_run(tmp_path)
    assert again.samples == run.samples
    assert again.statistics == run.statistics
    assert again.record.consumers == run.record.consumers


def test_every_consumer_has_every_record(run: Run) -> None:
    assert run.record.target == "simulated"
    assert run.record.complete
    for consumer in run.record.consumers:
        seen = [sample.seq for sample in run.samples if sample.label == consumer.label]
        assert sorted(seen) == list(range(run.record.sent))
    assert run.record.sent == 650


def test_the_consumers_are_those_of_the_app_that_ships(run: Run) -> None:
    named = {each.label: (each.function, each.efo_consumer) for each in run.record.consumers}
    assert named == {
        "lambda-standard": ("order-latency-standard", None),
        "lambda-efo": ("order-latency-efo", "order-events-lambda-efo"),
        "boto3-efo": (None, "order-events-boto3-efo"),
        "boto3-get-records-1": (None, None),
        "boto3-get-records-2": (None, None),
        "boto3-get-records-3": (None, None),
    }


def test_the_service_counts_calls_and_invocations(run: Run) -> None:
    stream = run.record.stream
    succeeded = total(run, "GetRecords.Success", StreamName=stream)
    throttled = total(run, "ReadProvisionedThroughputExceeded", StreamName=stream)
    assert succeeded / (130 / 60) == pytest.approx(300, rel=0.05)
    assert throttled > 200
    assert total(run, "IncomingRecords", StreamName=stream) == 650
    assert total(run, "Invocations", FunctionName="order-latency-efo") == 650
    assert 110 < total(run, "Invocations", FunctionName="order-latency-standard") < 140
    subscribed = total(
        run, "SubscribeToShard.Success", StreamName=stream, ConsumerName="order-events-boto3-efo"
    )
    assert subscribed == 1


def test_iterator_age_is_that_of_the_published_minutes(run: Run) -> None:
    ages = [
        row.average
        for row in run.statistics
        if row.name == "IteratorAge"
        and row.dimensions == (("FunctionName", "order-latency-standard"),)
        and row.minute < 2
    ]
    assert ages == pytest.approx([940, 940], rel=0.1)


def test_the_record_says_what_it_ran_with(run: Run) -> None:
    said = run.record.environment
    assert said["calibration"] == "H0"
    assert said["seed"] == 3
    assert said["delays"] == "measured"
    assert said["outside_measured_range"] == []
    h1 = simulate(described("round-1", 10), seed=3, calibration=H1)
    assert h1.record.environment["calibration"] == "H1"


def test_without_delays_a_record_is_pushed_at_once() -> None:
    plain = described("round-1", 10)
    service = plain.service.model_copy(update={"delays": "none"})
    run = simulate(plain.model_copy(update={"service": service}), seed=1)
    pushed = [each for each in run.samples if each.label == "lambda-efo"]
    assert [each.arrival_to_receive_ms for each in pushed] == [0.0] * 50


def test_the_first_send_is_minute_zero(run: Run) -> None:
    first = min(run.samples, key=lambda sample: sample.seq)
    assert first.scheduled_ms == run.record.started_ms
    assert first.sent_ms == run.record.started_ms
    assert first.arrival_ms - first.sent_ms == pytest.approx(run.record.first_put_ms, abs=1)
