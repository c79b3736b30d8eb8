from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from shardlane.operations.redrive_settings import RedriveSettings
from shardlane.parking.lambda_send import ANSWER_WAIT_S
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
    table = {"Ref": distinct.one("AWS::DynamoDB::Table").logical_id}
    bucket = {"Ref": distinct.one("AWS::S3::Bucket").logical_id}
    assert shared == FunctionSettings(
        label="lambda-standard",
        workers=8,
        log_keys=False,
        powertools_service_name="order-service",
        powertools_metrics_namespace="Orders",
        powertools_log_level="DEBUG",
        failure_policy="park",
        parking_table=table,  # type: ignore[arg-type]  # a name once it is deployed
        parking_consumer="read-shared",
        parking_bucket=bucket,  # type: ignore[arg-type]
    )
    pushed = FunctionSettings.from_environ(_environment(distinct, "read-pushed"))
    assert (pushed.label, pushed.workers, pushed.log_keys) == ("lambda-efo", 9, True)


@BOTH
def test_runtime_and_handler(distinct: CloudAssembly, name: str) -> None:
    properties = distinct.one(FUNCTION, FunctionName=name).properties
    assert properties["Runtime"] == "python3.13"
    assert properties["Architectures"] == ["arm64"]
    assert properties["Handler"] == "handler.lambda_handler"


def test_limits_are_each_functions_own(distinct: CloudAssembly) -> None:
    shared = distinct.one(FUNCTION, FunctionName="read-shared").properties
    pushed = distinct.one(FUNCTION, FunctionName="read-pushed").properties
    assert (shared["MemorySize"], shared["Timeout"]) == (192, 17)
    assert (pushed["MemorySize"], pushed["Timeout"]) == (256, 19)


def test_concurrency_is_reserved_where_it_is_asked_for(distinct: CloudAssembly) -> None:
    shared = distinct.one(FUNCTION, FunctionName="read-shared").properties
    pushed = distinct.one(FUNCTION, FunctionName="read-pushed").properties
    assert shared["ReservedConcurrentExecutions"] == 12
    assert "ReservedConcurrentExecutions" not in pushed


def test_the_processor_is_the_one_of_the_stage(otherwise: CloudAssembly) -> None:
    architectures = [each.properties["Architectures"] for each in otherwise.of_type(FUNCTION)]
    assert architectures == [["x86_64"]] * 2


def test_a_redrive_function_understands_its_environment(distinct: CloudAssembly) -> None:
    settings = RedriveSettings.from_environ(
        {name: str(each) for name, each in _environment(distinct, "read-pushed-redrive").items()}
    )
    assert (settings.parking_consumer, settings.consumer_function) == ("read-pushed", "read-pushed")
    assert settings.consumer_timeout_s == 19
    function = distinct.one(FUNCTION, FunctionName="read-pushed-redrive").properties
    needed_s = settings.consumer_timeout_s + ANSWER_WAIT_S
    assert function["Timeout"] >= 2 * needed_s


def test_parked_keys_are_tried_again_on_schedule(distinct: CloudAssembly) -> None:
    rules = distinct.of_type("AWS::Events::Rule")
    targets = []
    for rule in rules:
        assert rule.properties["ScheduleExpression"] == "rate(7 minutes)"
        (target,) = rule.properties["Targets"]
        function, _ = distinct.follow(target["Arn"])
        targets.append(function.properties["FunctionName"])
        allowed = [
            each.properties
            for each in distinct.of_type("AWS::Lambda::Permission")
            if distinct.follow(each.properties["SourceArn"])[0] == rule
        ]
        assert [each["Principal"] for each in allowed] == ["events.amazonaws.com"]
    assert sorted(targets) == ["read-pushed-redrive", "read-shared-redrive"]


def test_load_is_sent_to_the_stream_that_is_read(distinct: CloudAssembly) -> None:
    assert _environment(distinct, "order-service-load")["STREAM_NAME"] == "orders"
    load, _ = distinct.follow(distinct.outputs["LoadFunctionName"])
    assert load.properties["FunctionName"] == "order-service-load"


def test_the_default_size_is_that_of_the_comparison(dev: CloudAssembly) -> None:
    for name in ("order-latency-standard", "order-latency-efo"):
        assert dev.one(FUNCTION, FunctionName=name).properties["MemorySize"] == 128


def test_both_functions_are_the_same_code_and_layers(distinct: CloudAssembly) -> None:
    both = [
        distinct.one(FUNCTION, FunctionName=name).properties
        for name in ("read-shared", "read-pushed")
    ]
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
    for function in distinct.of_type(FUNCTION):
        assert (distinct.folder / _asset_path(function.body) / "handler.py").is_file()
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
