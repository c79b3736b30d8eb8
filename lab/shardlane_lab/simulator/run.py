"""An experiment in virtual time, as the same files that a local run writes."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version

from shardlane_lab.consumer_names import Names
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_record import described
from shardlane_lab.metric import MinuteStatistic, per_minute
from shardlane_lab.run_record import Run, RunRecord
from shardlane_lab.sample import Sample
from shardlane_lab.simulator.from_experiment import (
    check_fast,
    load_of,
    parameters_of,
    readers_of,
    schedule_of,
)
from shardlane_lab.simulator.model import simulate_shard
from shardlane_lab.simulator.parameters import H0, Parameters
from shardlane_lab.simulator.service_metrics import data_of
from shardlane_lab.simulator.shard_run import ShardRun
from shardlane_lab.virtual_time import EPOCH_MS

SHARD_ID = "shardId-000000000000"
NAMES = Names()


def simulate(
    experiment: Experiment,
    *,
    seed: int,
    calibration: Parameters = H0,
    names: Names = NAMES,
) -> Run:
    """The same arguments give the same run; ``write_run`` writes it. Raises ``ExperimentError``
    for an experiment that the fast model cannot play."""
    check_fast(experiment)
    load, readers = load_of(experiment), readers_of(experiment)
    parameters = parameters_of(experiment, calibration)
    run = simulate_shard(load, readers, parameters, seed, schedule_of(experiment))
    consumers = tuple(
        names.of(each.reader.label, each.reader.kind, len(each.surfaced_ms))
        for each in run.readings
    )
    put_ms = run.arrivals.written_ms - run.arrivals.sent_ms
    record = RunRecord(
        name=experiment.name,
        title=experiment.title,
        target="simulated",
        stream=names.stream,
        started_ms=EPOCH_MS,
        seconds=experiment.seconds,
        rate_per_s=load.rate_per_s,
        sent=len(run.arrivals),
        first_put_ms=float(put_ms[0]) if len(put_ms) else None,
        complete=all(run.missing(each) == 0 for each in run.readings),
        published_round=experiment.published_round,
        consumers=consumers,
        environment={
            "python": platform.python_version(),
            "shardlane-lab": version("shardlane-lab"),
            "model": "fast",
            "calibration": parameters.label,
            **described(experiment),
            "seed": seed,
            "mappings": {each.label: asdict(each.mapping) for each in readers if each.is_mapping},
        },
    )
    return Run(record, list(_samples(run, f"{experiment.name}-{seed}")), _statistics(run, record))


def _samples(run: ShardRun, name: str) -> Iterator[Sample]:
    came = run.arrivals
    scheduled, sent = came.scheduled_ms.tolist(), came.sent_ms.tolist()
    arrival, keys = came.arrival_ms.tolist(), came.keys.tolist()
    order = _numbers(run)
    for reading in run.readings:
        rows = zip(
            reading.received_ms.tolist(),
            reading.done_ms.tolist(),
            reading.batch.tolist(),
            strict=True,
        )
        for index, (received_ms, done_ms, batch) in enumerate(rows):
            yield Sample(
                label=reading.reader.label,
                seq=order[index],
                sent_ms=EPOCH_MS + sent[index],
                arrival_ms=EPOCH_MS + arrival[index],
                recv_ms=EPOCH_MS + received_ms,
                batch=batch,
                run=name,
                key=f"key-{keys[index]}",
                shard_id=SHARD_ID,
                # Not the service's 56 digits, but unique and in the order of the shard.
                sequence_number=str(index + 1),
                scheduled_ms=EPOCH_MS + scheduled[index],
                done_ms=EPOCH_MS + done_ms,
            )


def _numbers(run: ShardRun) -> list[int]:
    """The producer's number of each record: its place in the order of the schedule."""
    by_schedule = run.arrivals.scheduled_ms.argsort(kind="stable")
    numbers = by_schedule.argsort(kind="stable")
    return [int(number) for number in numbers]


def _statistics(run: ShardRun, record: RunRecord) -> list[MinuteStatistic]:
    return per_minute(data_of(run, record), record.started_ms)
