"""Which part of the template plays which consumer of the experiment."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane_lab.errors import ExperimentError
from shardlane_lab.experiment import Consumer, Experiment
from shardlane_lab.local_lambda.template_values import ConsumerSpec, MappingSpec, Template


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaConsumer:
    """A function behind an event source mapping of the template."""

    label: str
    mapping: MappingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessConsumer:
    """A boto3 consumer in a process of its own."""

    label: str
    consumer: Consumer
    registered: ConsumerSpec | None = None
    """The registered stream consumer it subscribes with; ``None`` for a poller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    stream: str
    lambdas: tuple[LambdaConsumer, ...]
    processes: tuple[ProcessConsumer, ...]


def wire(experiment: Experiment, template: Template) -> Wiring:
    """Matches kinds to what the template deploys. Raises ``ExperimentError`` naming the kind for
    which there is nothing."""
    lambdas: list[LambdaConsumer] = []
    processes: list[ProcessConsumer] = []
    spare = _spare_consumers(template)
    for label, consumer in experiment.labels():
        match consumer.kind:
            case "lambda-standard" | "lambda-efo":
                lambdas.append(LambdaConsumer(label=label, mapping=_mapping(consumer, template)))
            case "boto3-efo":
                if not spare:
                    raise ExperimentError(
                        f"{label}: the template registers no stream consumer for it (one that no "
                        "mapping uses)"
                    )
                processes.append(
                    ProcessConsumer(label=label, consumer=consumer, registered=spare.pop(0))
                )
            case "boto3-get-records":
                processes.append(ProcessConsumer(label=label, consumer=consumer))
    return Wiring(stream=_stream(template), lambdas=tuple(lambdas), processes=tuple(processes))


def _stream(template: Template) -> str:
    names = {mapping.stream for mapping in template.mappings}
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise ExperimentError(f"the template's mappings must read one stream; they read: {listed}")
    return names.pop()


def _mapping(consumer: Consumer, template: Template) -> MappingSpec:
    wanted = "efo" if consumer.kind == "lambda-efo" else "standard"
    for mapping in template.mappings:
        if mapping.kind == wanted:
            return mapping
    source = "a registered stream consumer" if wanted == "efo" else "the stream"
    raise ExperimentError(f"{consumer.kind}: the template has no mapping on {source}")


def _spare_consumers(template: Template) -> list[ConsumerSpec]:
    used = {mapping.consumer for mapping in template.mappings}
    return [consumer for consumer in template.consumers if consumer.name not in used]
