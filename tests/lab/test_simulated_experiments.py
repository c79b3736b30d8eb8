"""Every experiment that ships, in virtual time on the product's own code, in a shorter form."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardlane.batch_metrics import NAMESPACE
from shardlane_lab import experiment_file
from shardlane_lab.experiment import Experiment
from shardlane_lab.metric import dimensions
from shardlane_lab.percentile import percentile
from shardlane_lab.progress import Progress
from shardlane_lab.run_record import Run, read_run, write_run
from shardlane_lab.sample import Sample
from shardlane_lab.simulated.run import SimulatedRun
from shardlane_lab.virtual_time import run_virtual

SECONDS = 12.0
"""Of sending, in virtual time."""
VARIANTS = [
    (name, variant.name)
    for name, path in experiment_file.shipped().items()
    for variant in experiment_file.load_study(path).variants
]


def shortened(name: str, variant: str = "", seconds: float = SECONDS) -> Experiment:
    study = experiment_file.load_study(experiment_file.find(name))
    (chosen,) = (each.experiment for each in study.variants if each.name == variant)
    return chosen.shortened(seconds)


@functools.cache
def played(name: str, variant: str = "", seconds: float = SECONDS) -> Run:
    with Progress(name) as progress:
        simulated = SimulatedRun(shortened(name, variant, seconds), progress)
        run_virtual(simulated.run())
    return simulated.result()


def test_a_processor_counts_in_virtual_time_too() -> None:
    """Under the names that the deployed functions have: the dashboard shows what failed."""
    run = played("poison-record")
    counted = {
        (row.name, row.dimensions): row.sum for row in run.statistics if row.namespace == NAMESPACE
    }
    functions = [each.function for each in run.record.consumers if each.function]
    assert functions
    for function in functions:
        where = dimensions(consumer=function)
        assert counted["FailedRecords", where] > 0
        assert counted["ParkedRecords", where] == 0, "the shipped mapping stops"


def of(run: Run, label: str) -> list[Sample]:
    return [sample for sample in run.samples if sample.label == label]


def latencies(run: Run, label: str) -> list[float]:
    return sorted(sample.arrival_to_receive_ms for sample in of(run, label))


def p50(run: Run, label: str) -> float:
    return percentile(latencies(run, label), 50)


INSIDE = {("round-1", ""), ("round-2", "")} | {
    ("documented-propagation", variant) for variant in ("one", "fan-out")
}
"""What the published measurement covers; everything else is an extrapolation."""


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_experiment_runs_and_keeps_its_promises(name: str, variant: str) -> None:
    run = played(name, variant)
    planned = shortened(name, variant).plan().planned()
    assert run.record.complete
    assert run.record.sent == sum(each.seq is not None for each in planned)
    for consumer in run.record.consumers:
        seen = {sample.seq for sample in of(run, consumer.label)}
        # Beside a poison record, a function's mapping gives up the rest of its batch.
        gives_up = name == "poison-record" and consumer.kind.startswith("lambda-")
        assert run.record.sent - len(seen) <= (25 if gives_up else 0), consumer.label
        # Across a reshard a bare loop promises no order.
        if name != "reshard-under-load" or not consumer.kind.startswith("boto3-"):
            assert_order(of(run, consumer.label))
    outside = run.record.environment["outside_measured_range"]
    assert bool(outside) == ((name, variant) not in INSIDE)


def assert_order(samples: list[Sample]) -> None:
    """Of each key, by first receipt."""
    first: dict[str, dict[int, float]] = {}
    for sample in samples:
        assert sample.key is not None
        first.setdefault(sample.key, {}).setdefault(sample.seq, sample.recv_ms)
    for key, receipts in first.items():
        assert list(receipts) == sorted(receipts), key


def test_propagation_is_what_the_documentation_says() -> None:
    """Source: "Develop enhanced fan-out consumers with dedicated throughput": 200 ms on average
    with one shared consumer, up to about 1,000 ms with five, 70 ms by enhanced fan-out."""
    one, five, pushed = (
        played("documented-propagation", variant, 60.0) for variant in ("one", "five", "fan-out")
    )
    assert percentile(latencies(one, "boto3-get-records"), 90) == pytest.approx(200, rel=0.15)
    for number in range(1, 6):
        slowest = percentile(latencies(five, f"boto3-get-records-{number}"), 99)
        assert slowest == pytest.approx(1000, rel=0.1)
    assert p50(pushed, "lambda-efo") == pytest.approx(70, rel=0.15)


def test_nobody_receives_during_an_outage_and_everybody_catches_up() -> None:
    run = played("outage")
    (outage,) = shortened("outage").outages
    begins_ms = run.record.started_ms + outage.at_s * 1000
    ends_ms = begins_ms + outage.seconds * 1000
    for consumer in run.record.consumers:
        # What had been read when it began may still be on its way into a function.
        within = [
            sample
            for sample in of(run, consumer.label)
            if begins_ms + 100 < sample.recv_ms < ends_ms
        ]
        assert within == [], consumer.label
        after = [sample for sample in of(run, consumer.label) if sample.recv_ms >= ends_ms]
        assert max(each.arrival_to_receive_ms for each in after) > outage.seconds * 500


def test_a_function_stops_at_poison_and_a_loop_steps_over_it() -> None:
    run = played("poison-record")
    assert max(latencies(run, "lambda-efo")) > 5_000
    assert max(latencies(run, "boto3-efo")) < 1_000
    failed = [row for row in run.statistics if row.name == "FailedInvokeEventCount"]
    assert sum(row.sum for row in failed) > 0


def test_parallelization_helps_where_one_function_is_too_slow() -> None:
    one, ten = (played("parallelization-factor", f"factor-{n}") for n in (1, 10))
    assert p50(one, "lambda-efo") > 10 * p50(ten, "lambda-efo")


def test_a_batch_window_saves_invocations_and_costs_latency() -> None:
    none, five = (played("batch-window", f"window-{n}-s") for n in (0, 5))
    assert p50(five, "lambda-efo") > p50(none, "lambda-efo") + 1_500

    def invocations(run: Run) -> float:
        where = (("FunctionName", "order-latency-efo"),)
        rows = [row for row in run.statistics if row.name == "Invocations"]
        return sum(row.sum for row in rows if row.dimensions == where)

    assert invocations(none) > 10 * invocations(five)


def test_workers_by_key_keep_up_where_one_does_not() -> None:
    one, eight = (played("slow-handler", each) for each in ("one-worker", "eight-workers"))
    assert p50(one, "shardlane-efo") > 10 * p50(eight, "shardlane-efo")


def test_ten_efo_consumers_are_as_fast_as_one() -> None:
    run = played("ten-efo-consumers")
    medians = [p50(run, each.label) for each in run.record.consumers]
    assert len(medians) == 10
    assert max(medians) < 110


def test_children_are_read_after_a_split_and_a_merge() -> None:
    run = played("reshard-under-load")
    for consumer in run.record.consumers:
        shards = {sample.shard_id for sample in of(run, consumer.label)}
        assert len(shards) == 4, consumer.label  # the first, two halves, and the merged one


def test_what_is_written_is_read_back_with_gauges(tmp_path: Path) -> None:
    run = played("hot-key")
    write_run(tmp_path, run)
    again = read_run(tmp_path)
    assert (again.samples, again.gauges) == (run.samples, run.gauges)
    assert {gauge.label for gauge in again.gauges} == {"shardlane-efo"}


PLAY = """
import sys
from pathlib import Path
from tests.lab.test_simulated_experiments import played
from shardlane_lab.run_record import write_run
write_run(Path(sys.argv[1]), played("reshard-under-load"))
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", PLAY, str(tmp_path / seed)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            timeout=120,
        )
    for file in ("run.json", "samples.jsonl", "metrics.jsonl", "gauges.jsonl"):
        first, second = ((tmp_path / seed / file).read_bytes() for seed in ("1", "2"))
        assert first == second, file
        assert first


def test_another_seed_gives_another_run() -> None:
    whole = shortened("round-1")
    service = whole.service.model_copy(update={"seed": 2})
    with Progress("other") as progress:
        other = SimulatedRun(whole.model_copy(update={"service": service}), progress)
        run_virtual(other.run())
    assert latencies(other.result(), "lambda-efo") != latencies(played("round-1"), "lambda-efo")
