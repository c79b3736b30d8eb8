"""What a run in virtual time takes for granted about the app is what the app's template says."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from shardlane_lab import experiment_file
from shardlane_lab.consumer_names import Names
from shardlane_lab.experiment import Experiment
from shardlane_lab.experiment_mapping import (
    SHIPPED,
    SHIPPED_TIMEOUT_S,
    SHIPPED_WORKERS,
    with_parameters,
)
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.wiring import wire


@pytest.fixture(scope="module")
def template(assembly: Path) -> Template:
    return read_assembly(assembly)


def experiment(name: str) -> Experiment:
    return experiment_file.load(experiment_file.find(name))


def test_the_mappings_are_the_deployed_ones(template: Template) -> None:
    for mapping in template.mappings:
        assert asdict(mapping.config) == asdict(SHIPPED), mapping.function


def test_the_functions_have_the_deployed_settings(template: Template) -> None:
    for mapping in template.mappings:
        function = template.function(mapping.function)
        assert function.timeout_s == SHIPPED_TIMEOUT_S
        assert function.environment["WORKERS"] == str(SHIPPED_WORKERS)


@pytest.mark.parametrize("name", ["round-2", "ten-efo-consumers", "five-standard-mappings"])
def test_consumers_have_the_same_names_in_every_target(template: Template, name: str) -> None:
    chosen = experiment(name)
    wired = [
        replace(each, mapping_uuid=None if each.mapping_uuid is None else "any")
        for each in wire(chosen, template).records({})
    ]
    named = [
        replace(each, mapping_uuid=None if each.mapping_uuid is None else "any")
        for each in (Names().of(label, consumer.kind) for label, consumer in chosen.labels())
    ]
    assert wired == named


def test_an_experiment_gets_the_stream_and_the_copies_that_it_needs(template: Template) -> None:
    wiring = wire(experiment("many-keys"), template)
    assert wiring.template.stream(wiring.stream).shard_count == 2
    five = wire(experiment("five-standard-mappings"), template).template
    standard = [each for each in five.mappings if each.consumer is None]
    assert len(standard) == 5
    assert len({each.uuid for each in standard}) == 5
    assert {each.function for each in standard} <= {each.name for each in five.functions}
    ten = wire(experiment("ten-efo-consumers"), template).template
    assert len({each.name for each in ten.consumers}) == 10


def test_parameters_that_an_experiment_leaves_out_stay() -> None:
    changed = with_parameters(
        SHIPPED,
        Experiment.model_validate(
            experiment("round-1").model_dump(exclude_unset=True)
            | {"mapping": {"batch_size": 7, "window_s": 3, "parallelization_factor": 5}}
        ),
    )
    different = {name for name, value in asdict(changed).items() if value != asdict(SHIPPED)[name]}
    assert different == {"batch_size", "maximum_batching_window_s", "parallelization_factor"}


def test_workers_that_are_set_reach_the_function(template: Template) -> None:
    wiring = wire(experiment("parallelization-factor"), template)
    workers = {
        wiring.template.function(each.mapping.function).environment["WORKERS"]
        for each in wiring.lambdas
    }
    assert workers == {"1"}
