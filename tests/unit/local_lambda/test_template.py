"""What is read from an app's synthesized templates."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from shardlane_lab.local_lambda.errors import MappingError, TemplateError, UnknownFunction
from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.template_values import (
    ConsumerSpec,
    DestinationSpec,
    ResourceSpec,
    StreamSpec,
)
from tests.unit.local_lambda.synthesized_app import (
    Json,
    SynthesizedApp,
    attribute,
    consumer,
    function,
    mapping,
    ref,
    stream,
)

STREAM_ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"


@pytest.fixture
def app(tmp_path: Path) -> SynthesizedApp:
    return SynthesizedApp(tmp_path)


def test_streams_and_consumers(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {
            "A": stream(
                ShardCount=3,
                RetentionPeriodHours=48,
                StreamModeDetails={"StreamMode": "PROVISIONED"},
            ),
            "B": stream(None, StreamModeDetails={"StreamMode": "ON_DEMAND"}),
            "C": consumer("reader", attribute("A")),
        },
    )
    template = read_assembly(app.folder)
    assert template.streams == (
        StreamSpec(name="orders", shard_count=3, retention_hours=48, mode="PROVISIONED"),
        StreamSpec(name="S-B", shard_count=1, retention_hours=24, mode="ON_DEMAND"),
    )
    assert template.consumers == (ConsumerSpec(name="reader", stream="orders"),)


def test_a_function_with_its_layers_in_the_templates_order(app: SynthesizedApp) -> None:
    layers = {
        name: {"Type": "AWS::Lambda::LayerVersion", "Properties": {"Content": {"S3Key": key}}}
        for name, key in (("L1", "one.zip"), ("L2", "two.zip"))
    }
    described = function(
        Layers=[ref("L2"), ref("L1")],
        Environment={"Variables": {"STREAM": ref("A"), "N": 7}},
        Timeout=21,
        MemorySize=256,
        ReservedConcurrentExecutions=4,
        LoggingConfig={"LogGroup": ref("Logs")},
        Role=attribute("Role"),
    )
    app.stack(
        "S",
        {
            "A": stream(),
            "F": described,
            "Logs": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/mine"}},
            "Role": {"Type": "AWS::IAM::Role"},
            **layers,
        },
        assets=("code", "one", "two"),
    )
    found = read_assembly(app.folder).function("handle-orders")
    assert found.handler == "app.handler"
    assert found.code_folder == app.folder / "asset.code"
    assert found.layer_folders == (app.folder / "asset.two", app.folder / "asset.one")
    assert found.environment == {"STREAM": "orders", "N": "7"}
    assert (found.timeout_s, found.memory_mb, found.reserved_concurrency) == (21.0, 256, 4)
    assert found.runtime == "python3.13"
    assert found.log_group_name == "/mine"
    assert found.identity_arn == "arn:aws:iam::000000000000:role/S-Role"


def test_the_services_defaults_of_a_function(app: SynthesizedApp) -> None:
    app.stack("S", {"F": function(None)}, assets=("code",))
    (found,) = read_assembly(app.folder).functions
    assert found.name == "S-F"
    assert (found.timeout_s, found.memory_mb, found.reserved_concurrency) == (3.0, 128, None)
    assert found.log_group_name == "/aws/lambda/S-F"


def test_every_parameter_of_a_mapping_lands_in_its_own_place(app: SynthesizedApp) -> None:
    """All numbers differ, so that two that are swapped show."""
    described = mapping(
        attribute("C", "ConsumerARN"),
        ref("F"),
        BatchSize=11,
        MaximumBatchingWindowInSeconds=12,
        ParallelizationFactor=3,
        MaximumRecordAgeInSeconds=614,
        MaximumRetryAttempts=15,
        BisectBatchOnFunctionError=True,
        TumblingWindowInSeconds=16,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        FilterCriteria={"Filters": [{"Pattern": '{"partitionKey":["a"]}'}]},
        MetricsConfig={"Metrics": ["EventCount"]},
        DestinationConfig={"OnFailure": {"Destination": attribute("Q")}},
        Enabled=False,
        StartingPosition="AT_TIMESTAMP",
        StartingPositionTimestamp=1717.5,
    )
    app.stack(
        "S",
        {
            "A": stream(),
            "C": consumer("reader", attribute("A")),
            "F": function(),
            "Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "failed"}},
            "M": described,
        },
        assets=("code",),
        outputs={"Mapping": {"Value": ref("M")}},
    )
    template = read_assembly(app.folder)
    (found,) = template.mappings_of("handle-orders")
    assert (found.function, found.stream, found.consumer) == ("handle-orders", "orders", "reader")
    assert found.kind == "efo"
    assert not found.enabled
    assert found.on_failure == DestinationSpec(
        kind="sqs", name="failed", arn="arn:aws:sqs:us-east-1:000000000000:failed"
    )
    assert found.config == MappingConfig(
        starting_position="AT_TIMESTAMP",
        starting_timestamp_s=1717.5,
        batch_size=11,
        maximum_batching_window_s=12,
        parallelization_factor=3,
        maximum_record_age_s=614,
        maximum_retry_attempts=15,
        bisect_batch_on_function_error=True,
        report_batch_item_failures=True,
        tumbling_window_s=16,
        filters=('{"partitionKey":["a"]}',),
        event_count_metrics=True,
        on_failure="sqs",
    )
    assert template.outputs == {"Mapping": found.uuid}
    assert str(uuid.UUID(found.uuid)) == found.uuid


def test_a_mapping_on_the_stream_with_the_services_defaults(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {"A": stream(), "F": function(), "M": mapping(attribute("A"), attribute("F"))},
        assets=("code",),
    )
    (found,) = read_assembly(app.folder).mappings
    assert (found.kind, found.consumer, found.on_failure) == ("standard", None, None)
    assert found.enabled
    assert found.config == MappingConfig(starting_position="LATEST")


def test_stacks_refer_to_one_another_by_exports(app: SynthesizedApp) -> None:
    app.stack(
        "One",
        {"A": stream(), "C": consumer("reader", attribute("A"))},
        outputs={
            "X": {"Value": attribute("C", "ConsumerARN"), "Export": {"Name": "One:Reader"}},
            "Y": {"Value": ref("A"), "Export": {"Name": "One:Stream"}},
        },
    )
    app.stack(
        "Two",
        {
            "F": function(Environment={"Variables": {"S": {"Fn::ImportValue": "One:Stream"}}}),
            "M": mapping({"Fn::ImportValue": "One:Reader"}, ref("F")),
        },
        assets=("code",),
        outputs={"Name": {"Value": {"Fn::ImportValue": "One:Stream"}}},
    )
    template = read_assembly(app.folder)
    assert template.mappings[0].consumer == "reader"
    assert template.function("handle-orders").environment == {"S": "orders"}
    assert template.outputs == {"Name": "orders"}  # and none of the exports


def test_a_stream_that_is_only_named_by_its_arn_is_there_too(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {"F": function(), "M": mapping(f"{STREAM_ARN}/consumer/reader:171", ref("F"))},
        assets=("code",),
    )
    template = read_assembly(app.folder)
    assert template.streams == (StreamSpec(name="orders", attached=True),)
    assert template.mappings[0].consumer == "reader"


def test_region_and_account_are_in_every_arn(app: SynthesizedApp) -> None:
    app.stack("S", {"A": stream()}, outputs={"Arn": {"Value": attribute("A")}})
    template = read_assembly(app.folder, region="eu-west-1", account="123456789012")
    assert template.outputs == {"Arn": "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"}
    assert (template.region, template.account) == ("eu-west-1", "123456789012")


def test_what_other_services_need(app: SynthesizedApp) -> None:
    table: Json = {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]},
    }
    app.stack("S", {"T": table, "B": {"Type": "AWS::S3::Bucket"}})
    assert read_assembly(app.folder).others == (
        ResourceSpec(type="AWS::DynamoDB::Table", name="S-T", properties=table["Properties"]),
        ResourceSpec(type="AWS::S3::Bucket", name="s-b", properties={}),
    )


def test_functions_that_cannot_run_here_are_left_out(app: SynthesizedApp) -> None:
    """The CDK adds some for itself: JavaScript, or code in the template."""
    inline: Json = function("inline")
    inline["Properties"]["Code"] = {"ZipFile": "def handler(e, c): pass"}
    app.stack(
        "S",
        {
            "J": function("js", Runtime="nodejs22.x"),
            "L": function("by-region", Runtime={"Fn::FindInMap": ["Latest", "x", "value"]}),
            "I": inline,
            "F": function(),
        },
        assets=("code",),
    )
    assert [each.name for each in read_assembly(app.folder).functions] == ["handle-orders"]


def test_a_resource_whose_condition_does_not_hold_is_not_there(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {"A": stream("a") | {"Condition": "No"}, "B": stream("b") | {"Condition": "Yes"}},
        Conditions={
            "Yes": {"Fn::Equals": [ref("AWS::Region"), "us-east-1"]},
            "No": {"Fn::Not": [{"Condition": "Yes"}]},
        },
    )
    assert [each.name for each in read_assembly(app.folder).streams] == ["b"]


def test_an_output_that_only_aws_knows_is_left_out(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {"K": {"Type": "AWS::CloudFront::Distribution"}},
        outputs={"Url": {"Value": attribute("K", "DomainName")}, "Plain": {"Value": "x"}},
    )
    assert read_assembly(app.folder).outputs == {"Plain": "x"}


def test_an_unknown_function_name_lists_those_that_there_are(app: SynthesizedApp) -> None:
    app.stack("S", {"F": function("one"), "G": function("two")}, assets=("code",))
    with pytest.raises(UnknownFunction, match=r"no function named 'three'.* one, two$"):
        read_assembly(app.folder).function("three")


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        (
            {"F": function(Environment={"Variables": {"X": {"Fn::GetAZs": ""}}})},
            "S/F: the intrinsic function Fn::GetAZs is not understood",
        ),
        (
            {"F": function(Environment={"Variables": {"X": ref("Nothing")}})},
            "S/F: 'Nothing' is no resource of the stack S",
        ),
        (
            {"F": function(Environment={"Variables": {"X": {"Fn::ImportValue": "Other:X"}}})},
            "S/F: Fn::ImportValue of 'Other:X': no stack of the app exports it",
        ),
        (
            {"F": function(Layers=["arn:aws:lambda:us-east-1:1:layer:powertools:7"])},
            "S/F: the layer arn:aws:lambda:us-east-1:1:layer:powertools:7 is not part of the app",
        ),
        ({"F": function(Timeout=901)}, "S/F: handle-orders: timeout_s is 901"),
        (
            {"F": function(), "M": mapping("arn:aws:sqs:us-east-1:1:queue", ref("F"))},
            "S/M: the source 'arn:aws:sqs:us-east-1:1:queue' is no Kinesis stream",
        ),
        (
            {"M": mapping(STREAM_ARN, "nobody")},
            "M: its function 'nobody' cannot run here",
        ),
        (
            {
                "F": function(),
                "M": mapping(
                    STREAM_ARN,
                    ref("F"),
                    DestinationConfig={"OnFailure": {"Destination": "arn:aws:sns2:r:1:t"}},
                ),
            },
            "S/M: the on-failure destination 'arn:aws:sns2:r:1:t' is no SQS queue",
        ),
    ],
)
def test_what_is_not_understood_is_named_with_its_resource(
    app: SynthesizedApp, resources: Json, said: str
) -> None:
    app.stack("S", resources, assets=("code",))
    with pytest.raises(TemplateError) as caught:
        read_assembly(app.folder)
    assert said in str(caught.value)


def test_a_parameter_outside_its_range_is_named_with_its_resource(app: SynthesizedApp) -> None:
    app.stack(
        "S",
        {"F": function(), "M": mapping(STREAM_ARN, ref("F"), ParallelizationFactor=11)},
        assets=("code",),
    )
    with pytest.raises(MappingError, match="S/M: ParallelizationFactor is 11, allowed: 1 to 10"):
        read_assembly(app.folder)


def test_a_folder_without_an_assembly_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"manifest.json is missing: .*cdk synth"):
        read_assembly(tmp_path)


def test_a_damaged_template_is_named(app: SynthesizedApp) -> None:
    app.stack("S", {})
    (app.folder / "S.template.json").write_text("{", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"S.template.json is not JSON"):
        read_assembly(app.folder)
