"""An experiment file in the model's terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shardlane_lab.errors import ExperimentError
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_mapping import SHIPPED, with_parameters
from shardlane_lab.experiment_record import mean_rate
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.simulator.arrivals import Load, Times
from shardlane_lab.simulator.measured_range import outside
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.reader import Handling, MappingParameters, Reader

PLAIN_RECORD_BYTES = 100
"""Of a record that is not filled up, with its key."""


def load_of(experiment: Experiment) -> Load:
    return Load(
        rate_per_s=mean_rate(experiment),
        seconds=experiment.seconds,
        record_bytes=max(PLAIN_RECORD_BYTES, experiment.load.record_bytes),
        keys=experiment.load.keys,
        producer="one-by-one" if experiment.load.senders == 1 else "many",
    )


def schedule_of(experiment: Experiment) -> Times | None:
    """The send times, if they are not even."""
    if experiment.load.is_steady:
        return None
    return np.array([each.at_ms for each in experiment.plan().planned()])


def readers_of(experiment: Experiment) -> list[Reader]:
    config = with_parameters(SHIPPED, experiment)
    mapping = MappingParameters(
        batch_size=config.batch_size,
        window_ms=config.maximum_batching_window_s * 1000.0,
        parallelization=config.parallelization_factor,
    )
    return [
        Reader(
            label=label,
            kind=consumer.kind,
            interval_ms=consumer.interval_ms,
            handling=Handling(per_record_ms=experiment.load.handle_ms, workers=consumer.workers),
            mapping=mapping,
        )
        for label, consumer in experiment.labels()
    ]


def check_fast(experiment: Experiment) -> None:
    """Raises ``ExperimentError`` naming what the fast model does not have."""
    load = experiment.load
    missing = [
        name
        for name, used in (
            ("shards: more than 1", experiment.shards > 1),
            ("reshards", bool(experiment.reshards)),
            ("faults", bool(experiment.faults)),
            ("outages", bool(experiment.outages)),
            ("load.poison", bool(load.poison)),
            ("load.hot_key_share", load.hot_key_share > 0),
            (f"load.distribution {load.distribution!r}", load.distribution != "turns"),
            *(
                (f"consumers of kind {each.kind!r}", each.kind.startswith("shardlane-"))
                for each in experiment.consumers
            ),
        )
        if used
    ]
    if missing:
        raise ExperimentError(
            f"{experiment.name}: the fast model does not have {'; '.join(missing)}"
        )


def outside_measured_range(experiment: Experiment) -> list[str]:
    """Why the figures are an extrapolation: short clauses, none for a published round."""
    found = outside(load_of(experiment), readers_of(experiment), shards=experiment.shards)
    more = [
        clause
        for clause, holds in (
            ("a rate that changes", bool(experiment.load.steps or experiment.load.bursts)),
            ("a hot key", experiment.load.hot_key_share > 0),
            ("several puts at once", experiment.load.senders > 1),
            ("records that cannot be handled", bool(experiment.load.poison)),
            ("faults of the service", bool(experiment.faults or experiment.outages)),
            ("resharding", bool(experiment.reshards)),
            (
                "the library's own consumer",
                any(each.kind.startswith("shardlane-") for each in experiment.consumers),
            ),
        )
        if holds
    ]
    return found + more


def parameters_of(experiment: Experiment, calibration: Parameters) -> Parameters:
    """The calibration, or the service without any delay if the experiment asks for that."""
    if experiment.service.delays == "measured":
        return calibration
    return replace(calibration, delays=Delays.none(), polling=PollTiming.exact())
