"""Whether an experiment can be run on what is deployed: a run changes nothing of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shardlane_lab.aws.deployment import Deployment
from shardlane_lab.aws.errors import AwsError, explained
from shardlane_lab.experiment import MAPPING_KINDS, Experiment
from shardlane_lab.experiment_record import mean_rate
from shardlane_lab.run_record import Kind

MOST_CONSUMERS = 20
"""Registered with a provisioned stream."""
REGION_RECORDS = 500_000
"""The load function plans the whole load anew for each part of it."""
_PARAMETERS = {
    "batch_size": "BatchSize",
    "window_s": "MaximumBatchingWindowInSeconds",
    "parallelization_factor": "ParallelizationFactor",
    "retry_attempts": "MaximumRetryAttempts",
    "bisect": "BisectBatchOnFunctionError",
    "max_record_age_s": "MaximumRecordAgeInSeconds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the service says about the deployment."""

    shards: int
    mode: str
    registered: frozenset[str]
    """Names of all stream consumers."""
    mappings: Mapping[Kind, Mapping[str, Any]]
    """Answers of GetEventSourceMapping by kind."""
    functions: Mapping[Kind, Mapping[str, Any]]
    """Answers of GetFunctionConfiguration by kind."""


def facts_of(deployment: Deployment, kinesis: Any, functions: Any) -> Facts:
    """Asks for them; raises ``AwsError``."""
    with explained("the deployed stream"):
        summary = kinesis.describe_stream_summary(StreamName=deployment.stream)
        pages = kinesis.get_paginator("list_stream_consumers").paginate(
            StreamARN=deployment.stream_arn
        )
        registered = frozenset(each["ConsumerName"] for page in pages for each in page["Consumers"])
    with explained("the deployed functions"):
        mappings = {
            kind: functions.get_event_source_mapping(UUID=each.mapping_id)
            for kind, each in deployment.functions.items()
        }
        configurations = {
            kind: functions.get_function_configuration(FunctionName=each.name)
            for kind, each in deployment.functions.items()
        }
    described = summary["StreamDescriptionSummary"]
    return Facts(
        shards=described["OpenShardCount"],
        mode=described.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED"),
        registered=registered,
        mappings=mappings,
        functions=configurations,
    )


def check_fits(
    experiment: Experiment, deployment: Deployment, facts: Facts, *, in_region: bool
) -> None:
    """Raises ``AwsError`` with everything that does not fit."""
    problems = [
        *_impossible(experiment),
        *_stream(experiment, facts),
        *_functions(experiment, facts),
        *_load(experiment, deployment, in_region),
    ]
    if problems:
        listed = "\n".join(f"  {each}" for each in problems)
        raise AwsError(
            f"{experiment.name} cannot run on what is deployed, which a run does not "
            f"change:\n{listed}"
        )


def _impossible(experiment: Experiment) -> Iterator[str]:
    for name, used in (
        ("faults", experiment.faults),
        ("outages", experiment.outages),
        ("reshards", experiment.reshards),
    ):
        if used:
            yield f"{name}: only the local service does that; use --target local or simulated"


def _stream(experiment: Experiment, facts: Facts) -> Iterator[str]:
    if experiment.shards != facts.shards:
        yield f"shards: the experiment has {experiment.shards}, the stream {facts.shards}"
    wanted = sum(
        each.count for each in experiment.consumers if each.kind in ("boto3-efo", "shardlane-efo")
    )
    most = MOST_CONSUMERS - len(facts.registered)
    if wanted - 1 > most:  # one is deployed
        yield (
            f"consumers: {wanted} subscribers need {wanted - 1} more registered consumers; "
            f"the stream has room for {most}"
        )


def _functions(experiment: Experiment, facts: Facts) -> Iterator[str]:
    for number, consumer in enumerate(experiment.consumers):
        if consumer.kind not in MAPPING_KINDS:
            continue
        where = f"consumers.{number}"
        if consumer.count > 1:
            yield f"{where}.count: the stage deploys one {consumer.kind}"
        if (state := facts.mappings[consumer.kind].get("State")) != "Enabled":
            yield f"{where}: the mapping of {consumer.kind} is {state}, not Enabled"
        variables = facts.functions[consumer.kind].get("Environment", {}).get("Variables", {})
        workers = variables.get("WORKERS", "1")
        if "workers" in consumer.model_fields_set and workers != str(consumer.workers):
            yield f"{where}.workers: the function is deployed with {workers}"
        yield from _parameters(experiment, consumer.kind, facts.mappings[consumer.kind])


def _parameters(experiment: Experiment, kind: str, deployed: Mapping[str, Any]) -> Iterator[str]:
    given = experiment.mapping.model_dump(exclude_none=True)
    for name, value in given.items():
        found = deployed.get(_PARAMETERS[name])
        if found != value:
            yield f"mapping.{name}: the experiment has {value}, {kind} is deployed with {found}"


def _load(experiment: Experiment, deployment: Deployment, in_region: bool) -> Iterator[str]:
    if in_region and deployment.load_function is None:
        yield f"--load region: stage {deployment.stage!r} deploys no load function"
    records = mean_rate(experiment) * experiment.seconds
    if in_region and records > REGION_RECORDS:
        yield f"--load region: {records:,.0f} records; allowed are {REGION_RECORDS:,}"
