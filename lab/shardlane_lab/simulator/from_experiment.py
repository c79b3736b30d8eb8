"""An experiment file in the model's terms."""

from __future__ import annotations

from dataclasses import replace

from shardlane_lab.experiment import Experiment
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.simulator.arrivals import Load
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.reader import Reader


def load_of(experiment: Experiment) -> Load:
    return Load(
        rate_per_s=experiment.load.rate_per_s,
        seconds=experiment.seconds,
        keys=experiment.load.keys,
    )


def readers_of(experiment: Experiment) -> list[Reader]:
    return [
        Reader(label=label, kind=consumer.kind, interval_ms=consumer.interval_ms)
        for label, consumer in experiment.labels()
    ]


def parameters_of(experiment: Experiment, calibration: Parameters) -> Parameters:
    """The calibration, or the service without any delay if the experiment asks for that."""
    if experiment.service.delays == "measured":
        return calibration
    return replace(calibration, delays=Delays.none(), polling=PollTiming.exact())
