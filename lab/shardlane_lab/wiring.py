"""Which part of the template plays which consumer of the experiment."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardlane_lab.errors import ExperimentError
from shardlane_lab.experiment import FAN_OUT_KINDS, MAPPING_KINDS, Consumer, Experiment
from shardlane_lab.experiment_mapping import with_parameters
from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.template_values import ConsumerSpec, MappingSpec, Template
from shardlane_lab.run_record import ConsumerRecord, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaConsumer:
    """A function behind an event source mapping of the template."""

    label: str
    consumer: Consumer
    mapping: MappingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessConsumer:
    """A consumer in a process of its own."""

    label: str
    consumer: Consumer
    registered: ConsumerSpec | None = None
    """The registered stream consumer it subscribes with; ``None`` for a poller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    stream: str
    template: Template
    """As the experiment needs it: shards, parameters, and a copy of a function and its mapping,
    or of a stream consumer, for each further one that is wanted."""
    lambdas: tuple[LambdaConsumer, ...]
    processes: tuple[ProcessConsumer, ...]
    labels: tuple[str, ...]
    """Of all consumers, in the experiment's order."""

    def records(self, surfaced: dict[str, int]) -> list[ConsumerRecord]:
        """As the run's record names them. ``surfaced``: throttles by label."""
        of_functions = [
            ConsumerRecord(
                label=each.label,
                kind=each.consumer.kind,
                function=each.mapping.function,
                efo_consumer=each.mapping.consumer,
                mapping_uuid=each.mapping.uuid,
            )
            for each in self.lambdas
        ]
        of_processes = [
            ConsumerRecord(
                label=each.label,
                kind=each.consumer.kind,
                surfaced_throttles=surfaced.get(each.label, 0),
                efo_consumer=each.registered.name if each.registered else None,
            )
            for each in self.processes
        ]
        found = [*of_functions, *of_processes]
        return sorted(found, key=lambda each: self.labels.index(each.label))


def wire(experiment: Experiment, template: Template) -> Wiring:
    """Matches kinds to what the template deploys. Raises ``ExperimentError`` naming the kind for
    which there is nothing."""
    stream = _stream(template)
    wiring = _Wiring(experiment, template)
    for consumer in experiment.consumers:
        labels = [label for label, each in experiment.labels() if each is consumer]
        if consumer.kind in MAPPING_KINDS:
            wiring.add_functions(consumer, labels)
        else:
            wiring.add_processes(consumer, labels)
    return wiring.done(stream)


class _Wiring:
    """A wiring that is being made."""

    def __init__(self, experiment: Experiment, template: Template) -> None:
        self._experiment = experiment
        self._template = template
        used = {mapping.consumer for mapping in template.mappings}
        self._spare = [each for each in template.consumers if each.name not in used]
        self._consumers = list(template.consumers)
        self._functions: dict[str, FunctionConfig] = {}
        self._lambdas: list[LambdaConsumer] = []
        self._processes: list[ProcessConsumer] = []

    def add_functions(self, consumer: Consumer, labels: Sequence[str]) -> None:
        deployed = _mapping(consumer, self._template)
        config = with_parameters(deployed.config, self._experiment)
        for number, label in enumerate(labels, start=1):
            mapping = replace(deployed, config=config)
            function = self._template.function(deployed.function)
            if number > 1:
                function = replace(function, name=f"{function.name}-{number}")
                mapping = self._copied(mapping, function.name, number)
            self._functions[function.name] = _with_workers(function, consumer)
            self._lambdas.append(LambdaConsumer(label=label, consumer=consumer, mapping=mapping))

    def _copied(self, mapping: MappingSpec, function: str, number: int) -> MappingSpec:
        registered = None
        if mapping.consumer is not None:
            registered = f"{mapping.consumer}-{number}"
            self._consumers.append(ConsumerSpec(name=registered, stream=mapping.stream))
        return replace(
            mapping,
            logical_id=f"{mapping.logical_id}{number}",
            uuid=str(uuid.uuid5(uuid.UUID(mapping.uuid), str(number))),
            function=function,
            consumer=registered,
        )

    def add_processes(self, consumer: Consumer, labels: Sequence[str]) -> None:
        for label in labels:
            registered = None
            if consumer.kind in FAN_OUT_KINDS:
                registered = self._registered(label, consumer.kind)
            self._processes.append(
                ProcessConsumer(label=label, consumer=consumer, registered=registered)
            )

    def _registered(self, label: str, kind: Kind) -> ConsumerSpec:
        """One that the template registers and no mapping uses, if it is meant for this label or
        kind; further ones are added."""
        stream = _stream(self._template)
        name = f"{stream}-{label}"
        fitting = [each for each in self._spare if each.name == name or kind == "boto3-efo"]
        if fitting:
            self._spare.remove(fitting[0])
            return fitting[0]
        added = ConsumerSpec(name=name, stream=stream)
        self._consumers.append(added)
        return added

    def done(self, stream: str) -> Wiring:
        """All of the template but the mappings that are no consumer of this experiment."""
        template = self._template
        others = tuple(each for each in template.functions if each.name not in self._functions)
        streams = tuple(
            replace(each, shard_count=self._experiment.shards) if each.name == stream else each
            for each in template.streams
        )
        return Wiring(
            stream=stream,
            template=replace(
                template,
                streams=streams,
                consumers=tuple(self._consumers),
                functions=(*others, *self._functions.values()),
                mappings=tuple(each.mapping for each in self._lambdas),
            ),
            lambdas=tuple(self._lambdas),
            processes=tuple(self._processes),
            labels=tuple(label for label, _ in self._experiment.labels()),
        )


def _with_workers(function: FunctionConfig, consumer: Consumer) -> FunctionConfig:
    if "workers" not in consumer.model_fields_set:
        return function
    return replace(function, environment={**function.environment, "WORKERS": str(consumer.workers)})


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
