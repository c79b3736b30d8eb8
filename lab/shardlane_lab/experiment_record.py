"""What a run's record says about its experiment."""

from __future__ import annotations

from typing import Any

from shardlane_lab.experiment import Experiment


def mean_rate(experiment: Experiment) -> float:
    """Records a second over the whole time, poison left out."""
    plan = experiment.plan()
    if experiment.load.is_steady:
        return plan.rate_per_s
    return sum(each.seq is not None for each in plan.planned()) / plan.seconds


def described(experiment: Experiment) -> dict[str, Any]:
    """For ``RunRecord.environment``: the service's settings, the whole experiment, and why its
    figures are an extrapolation, if they are."""
    # Not above: the model's ranges need numpy, and a command line should start without it.
    from shardlane_lab.simulator.from_experiment import outside_measured_range

    return {
        **experiment.service.model_dump(),
        "experiment": experiment.model_dump(mode="json", exclude_defaults=True),
        "outside_measured_range": outside_measured_range(experiment),
    }
