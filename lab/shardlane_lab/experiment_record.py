"""The record of an experiment that was run: what it says about the experiment, and what came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shardlane_lab.collector import Collector
from shardlane_lab.experiment import Experiment
from shardlane_lab.run_record import ConsumerRecord, RunRecord, Target


def recorded(
    experiment: Experiment,
    collector: Collector,
    *,
    target: Target,
    stream: str,
    started_ms: float,
    complete: bool,
    consumers: Iterable[ConsumerRecord],
    environment: Mapping[str, Any],
) -> RunRecord:
    """Of all that ``collector`` has so far. ``started_ms`` stands also for a run that was stopped
    before its first send."""
    return RunRecord(
        name=experiment.name,
        title=experiment.title,
        target=target,
        stream=stream,
        started_ms=started_ms,
        seconds=experiment.seconds,
        rate_per_s=mean_rate(experiment),
        sent=len(collector.sent),
        first_put_ms=collector.first_put_ms,
        resends=collector.resends,
        producer_failures=collector.producer_failures,
        complete=complete,
        published_round=experiment.published_round,
        consumers=tuple(consumers),
        environment=environment,
    )


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
