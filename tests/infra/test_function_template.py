from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from shardlane.settings import FunctionSettings
from tests.infra.cloud_assembly import CloudAssembly

FUNCTION = "AWS::Lambda::Function"
BOTH = pytest.mark.parametrize("name", ["read-shared", "read-pushed"])


def _environment(assembly: CloudAssembly, name: str) -> dict[str, str]:
    function = assembly.one(FUNCTION, FunctionName=name)
    variables: dict[str, str] = function.properties["Environment"]["Variables"]
    return variables


@BOTH
def test_environment_keys_are_the_fields_of_the_functions_settings(
    distinct: CloudAssembly, name: str
) -> None:
    expected = {field.name.upper() for field in fields(FunctionSettings)}
    assert set(_environment(distinct, name)) == expected


def test_the_function_understands_its_environment(distinct: CloudAssembly) -> None:
    shared = FunctionSettings.from_environ(_environment(distinct, "read-shared"))
    assert shared == FunctionSettings(
        label="lambda-standard",
        workers=8,
        log_keys=False,
        powertools_service_name="order-service",
        powertools_metrics_namespace="Orders",
        powertools_log_level="DEBUG",
    )
    pushed = FunctionSettings.from_environ(_environment(distinct, "read-pushed"))
    assert (pushed.label, pushed.workers, pushed.log_keys) == ("lambda-efo", 9, True)


@BOTH
def test_runtime_and_handler(distinct: CloudAssembly, name: str) -> None:
    properties = distinct.one(FUNCTION, FunctionName=name).properties
    assert properties["Runtime"] == "python3.13"
    assert properties["Architectures"] == ["x86_64"]
    assert properties["Handler"] == "handler.lambda_handler"


def test_limits_are_each_functions_own(distinct: CloudAssembly) -> None:
    shared = distinct.one(FUNCTION, FunctionName="read-shared").properties
    pushed = distinct.one(FUNCTION, FunctionName="read-pushed").properties
    assert (shared["MemorySize"], shared["Timeout"]) == (192, 17)
    assert (pushed["MemorySize"], pushed["Timeout"]) == (256, 19)


def test_the_default_size_is_that_of_the_comparison(dev: CloudAssembly) -> None:
    for name in ("order-latency-standard", "order-latency-efo"):
        assert dev.one(FUNCTION, FunctionName=name).properties["MemorySize"] == 128


def test_both_functions_are_the_same_code_and_layers(distinct: CloudAssembly) -> None:
    both = [each.properties for each in distinct.of_type(FUNCTION)]
    assert len(both) == 2
    assert both[0]["Code"] == both[1]["Code"]
    assert both[0]["Layers"] == both[1]["Layers"]


def test_the_layers_are_our_package_and_its_dependencies(distinct: CloudAssembly) -> None:
    function = distinct.of_type(FUNCTION)[0]
    descriptions = [
        distinct.follow(layer)[0].properties["Description"]
        for layer in function.properties["Layers"]
    ]
    assert descriptions == [
        "shardlane: Powertools for AWS Lambda and what it needs",
        "shardlane: Kinesis batches by partition key",
    ]
    for layer in distinct.of_type("AWS::Lambda::LayerVersion"):
        assert layer.properties["CompatibleRuntimes"] == ["python3.13"]


def test_the_assets_hold_the_handler_and_the_package(distinct: CloudAssembly) -> None:
    code = distinct.folder / _asset_path(distinct.of_type(FUNCTION)[0].body)
    assert (code / "handler.py").is_file()
    runtime = [
        distinct.folder / _asset_path(layer.body)
        for layer in distinct.of_type("AWS::Lambda::LayerVersion")
        if "partition key" in layer.properties["Description"]
    ]
    assert (runtime[0] / "python" / "shardlane" / "__init__.py").is_file()


@BOTH
def test_logs_go_to_a_group_of_its_own_that_ends(distinct: CloudAssembly, name: str) -> None:
    function = distinct.one(FUNCTION, FunctionName=name)
    group, _ = distinct.follow(function.properties["LoggingConfig"]["LogGroup"])
    assert group.properties["LogGroupName"] == f"/aws/lambda/{name}"
    assert group.properties["RetentionInDays"] == 14


def _asset_path(body: dict[str, Any]) -> str:
    return str(body["Metadata"]["aws:asset:path"])
