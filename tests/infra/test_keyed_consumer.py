"""The construct in somebody else's app: their function, their stream."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stacks.node_runtime import prepare_node
from stacks.synth import ROOT
from tests.infra import snippet
from tests.infra.cloud_assembly import CloudAssembly, Resource

STREAM_ARN = "arn:aws:kinesis:eu-west-1:111122223333:stream/order-events"
CONSUMER_ARN = f"{STREAM_ARN}/consumer/billing:1780000000"
ROLE_ARN = "arn:aws:iam::111122223333:role/billing"
ACCOUNT = {"account": "111122223333", "region": "eu-west-1"}


def _build(app: Any) -> None:
    """One stack for each way to use it."""
    from aws_cdk import Environment, Stack
    from aws_cdk import aws_kinesis as kinesis
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from stacks.constructs import (
        KeyedConsumer,
        MappingProps,
        OnFailureBucket,
        ParkingLot,
        Policy,
    )

    def function(stack: Stack, name: str = "Function") -> lambda_.Function:
        return lambda_.Function(
            stack,
            name,
            runtime=lambda_.Runtime.PYTHON_3_13,
            code=lambda_.Code.from_inline("def handler(event, context): ..."),
            handler="index.handler",
        )

    plain = Stack(app, "plain")
    stream = kinesis.Stream.from_stream_arn(plain, "Stream", STREAM_ARN)
    KeyedConsumer(plain, "Billing", function=function(plain), source=stream, consumer="billing")

    shared = Stack(app, "shared")
    lot = ParkingLot(shared, "Lot", with_bucket=True)
    pushed = kinesis.StreamConsumer.from_stream_consumer_arn(shared, "Pushed", CONSUMER_ARN)
    for name, policy in (("one", Policy.PARK), ("two", Policy.STOP)):
        KeyedConsumer(
            shared,
            name,
            function=function(shared, f"{name}Function"),
            source=pushed,
            consumer=lot.part(name),
            mapping=MappingProps(policy=policy, batch_size=300),
            alarms=None,
        )

    foreign = Stack(app, "foreign", env=Environment(**ACCOUNT))
    imported = lambda_.Function.from_function_attributes(
        foreign,
        "Function",
        function_arn="arn:aws:lambda:eu-west-1:111122223333:function:billing",
        role=_role(foreign),
        same_environment=True,
    )
    key = kms.Key(foreign, "StreamKey")
    encrypted = kinesis.Stream(
        foreign, "Stream", encryption=kinesis.StreamEncryption.KMS, encryption_key=key
    )
    KeyedConsumer(
        foreign,
        "Billing",
        function=imported,
        source=encrypted,
        consumer="billing",
        mapping=MappingProps(starting_position="AT_TIMESTAMP", starting_timestamp_s=1_780_000_000),
        on_failure=OnFailureBucket(foreign, "GivenUp", key=kms.Key(foreign, "BucketKey")),
    )


def _role(stack: Any) -> Any:
    from aws_cdk import aws_iam as iam

    return iam.Role.from_role_arn(stack, "Role", ROLE_ARN)


Stacks = dict[str, CloudAssembly]


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], CloudAssembly]:
    prepare_node()
    from aws_cdk import App

    folder = tmp_path_factory.mktemp("apps") / "out"
    app = App(outdir=str(folder), analytics_reporting=False)
    _build(app)
    app.synth()
    whole = CloudAssembly(folder)

    def of(name: str) -> CloudAssembly:
        """One stack alone: logical ids are unique only there."""
        part = CloudAssembly(folder)
        part.__dict__["templates"] = {name: whole.templates[name]}
        return part

    return of


def _mapping(assembly: CloudAssembly) -> Resource:
    return assembly.one("AWS::Lambda::EventSourceMapping")


def _statements(assembly: CloudAssembly) -> list[dict[str, Any]]:
    return [
        statement
        for policy in assembly.of_type("AWS::IAM::Policy")
        for statement in policy.properties["PolicyDocument"]["Statement"]
    ]


def test_it_parks_unless_told_otherwise(stacks: Callable[[str], CloudAssembly]) -> None:
    properties = _mapping(stacks("plain")).properties
    assert properties["EventSourceArn"] == STREAM_ARN
    assert properties["MaximumRetryAttempts"] == 100
    assert properties["MaximumRecordAgeInSeconds"] == -1
    assert properties["StartingPosition"] == "TRIM_HORIZON"
    assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_it_brings_a_lot_that_keeps_everything(stacks: Callable[[str], CloudAssembly]) -> None:
    table = stacks("plain").one("AWS::DynamoDB::Table")
    properties = table.properties
    assert [each["AttributeName"] for each in properties["KeySchema"]] == ["pk", "sk"]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True}
    assert properties["DeletionProtectionEnabled"] is True
    assert "TimeToLiveSpecification" not in properties
    assert table.body["DeletionPolicy"] == table.body["UpdateReplacePolicy"] == "Retain"


def test_their_function_is_told_where_to_park(stacks: Callable[[str], CloudAssembly]) -> None:
    plain = stacks("plain")
    function = plain.one("AWS::Lambda::Function")
    assert function.properties["Environment"]["Variables"] == {
        "FAILURE_POLICY": "park",
        "PARKING_TABLE": {"Ref": plain.one("AWS::DynamoDB::Table").logical_id},
        "PARKING_CONSUMER": "billing",
    }


def test_their_function_gets_what_it_needs_and_no_more(
    stacks: Callable[[str], CloudAssembly],
) -> None:
    actions = [statement["Action"] for statement in _statements(stacks("plain"))]
    assert actions == [
        "sqs:SendMessage",
        [
            "kinesis:DescribeStream",
            "kinesis:DescribeStreamSummary",
            "kinesis:GetRecords",
            "kinesis:GetShardIterator",
            "kinesis:ListShards",
            "kinesis:ListStreams",
        ],
        ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
    ]


def test_the_mapping_waits_for_the_grants(stacks: Callable[[str], CloudAssembly]) -> None:
    for name in ("plain", "foreign"):
        policy = stacks(name).one("AWS::IAM::Policy")
        assert policy.logical_id in _mapping(stacks(name)).body["DependsOn"]


def test_its_alarms_are_named_after_the_consumer(stacks: Callable[[str], CloudAssembly]) -> None:
    names = {
        alarm.properties["AlarmName"] for alarm in stacks("plain").of_type("AWS::CloudWatch::Alarm")
    }
    assert {"billing-dead", "billing-parked-age", "billing-on-failure"} <= names
    assert "billing-behind" not in names


def test_two_consumers_share_a_lot_under_names_of_their_own(
    stacks: Callable[[str], CloudAssembly],
) -> None:
    shared = stacks("shared")
    variables = [
        each.properties["Environment"]["Variables"]
        for each in shared.of_type("AWS::Lambda::Function")
    ]
    assert [each["PARKING_CONSUMER"] for each in variables] == ["one", "two"]
    assert [each["FAILURE_POLICY"] for each in variables] == ["park", "stop"]
    assert variables[0]["PARKING_TABLE"] == variables[1]["PARKING_TABLE"]
    assert variables[0]["PARKING_BUCKET"] == {"Ref": shared.one("AWS::S3::Bucket").logical_id}


def test_retries_outlast_the_batch_when_it_parks(stacks: Callable[[str], CloudAssembly]) -> None:
    settings = [
        (each.properties["MaximumRetryAttempts"], each.properties["MaximumRecordAgeInSeconds"])
        for each in stacks("shared").of_type("AWS::Lambda::EventSourceMapping")
    ]
    assert settings == [(300, -1), (10, 3_600)]


def test_a_registered_consumer_is_read_and_its_stream_too(
    stacks: Callable[[str], CloudAssembly],
) -> None:
    shared = stacks("shared")
    for mapping in shared.of_type("AWS::Lambda::EventSourceMapping"):
        assert mapping.properties["EventSourceArn"] == CONSUMER_ARN
    on = {str(statement["Resource"]) for statement in _statements(shared)}
    assert {STREAM_ARN, CONSUMER_ARN} <= on


def test_who_does_not_park_cannot_reach_the_lot(stacks: Callable[[str], CloudAssembly]) -> None:
    shared = stacks("shared")
    who = {
        policy.properties["Roles"][0]["Ref"][:3]
        for policy in shared.of_type("AWS::IAM::Policy")
        if "dynamodb:" in str(policy.properties)
    }
    assert who == {"one"}


def test_an_imported_function_is_granted_through_its_role(
    stacks: Callable[[str], CloudAssembly],
) -> None:
    foreign = stacks("foreign")
    assert foreign.one("AWS::IAM::Policy").properties["Roles"] == ["billing"]
    assert foreign.of_type("AWS::Lambda::Function") == []


def test_a_streams_own_key_is_granted(stacks: Callable[[str], CloudAssembly]) -> None:
    foreign = stacks("foreign")
    granted = {
        foreign.follow(statement["Resource"])[0].logical_id[:9]: statement["Action"]
        for statement in _statements(foreign)
        if "kms:" in str(statement["Action"])
    }
    assert granted == {
        "StreamKey": "kms:Decrypt",
        "BucketKey": ["kms:Decrypt", "kms:GenerateDataKey"],
    }


def test_it_can_take_over_at_a_time(stacks: Callable[[str], CloudAssembly]) -> None:
    properties = _mapping(stacks("foreign")).properties
    assert properties["StartingPosition"] == "AT_TIMESTAMP"
    assert properties["StartingPositionTimestamp"] == 1_780_000_000


def test_the_bucket_is_private_and_ends(stacks: Callable[[str], CloudAssembly]) -> None:
    bucket = stacks("foreign").one("AWS::S3::Bucket").properties
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    expirations = [
        rule.get("ExpirationInDays") for rule in bucket["LifecycleConfiguration"]["Rules"]
    ]
    assert expirations == [None, 90]
    assert "Expiration" not in str(stacks("shared").one("AWS::S3::Bucket").properties)


SNIPPET = ROOT / "docs" / "snippet" / "keyed-consumer.yaml"


def test_the_snippet_is_what_the_construct_makes(stacks: Callable[[str], CloudAssembly]) -> None:
    """After a change that is meant: UPDATE_SNAPSHOTS=1 with this test."""
    template = stacks("plain").templates["plain"]
    made = snippet.text(snippet.plain(template, consumer="billing", stream_arn=STREAM_ARN))
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNIPPET.write_text(made, encoding="utf-8")
    assert SNIPPET.read_text("utf-8") == made
    assert not re.search(r"\bbilling\b", made)


def test_cfn_lint_finds_nothing_in_the_snippet() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cfn-lint")), str(SNIPPET)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("props", "refusal"),
    [
        ({"batch_size": 0}, r"batch_size is 0 .* from 1 to 10000"),
        ({"parallelization_factor": 11}, r"parallelization_factor is 11 .* from 1 to 10"),
        ({"batching_window_s": True}, r"batching_window_s is True .* from 0 to 300"),
        ({"starting_position": "NOW"}, r"starting_position is 'NOW'; allowed: LATEST, TRIM"),
        ({"starting_position": "AT_TIMESTAMP"}, r"starting_timestamp_s is None .* a time with"),
        ({"starting_timestamp_s": 1}, r"starting_timestamp_s is 1 .* only there"),
        ({"max_record_age_s": 3_600}, r"max_record_age_s is 3600 with policy park; allowed: -1"),
        ({"retry_attempts": 99}, r"retry_attempts is 99 with policy park; .* from 100 to"),
        ({"retry_attempts": 400, "batch_size": 500}, r"retry_attempts is 400 .* from 500 to"),
        ({"policy": "stop", "retry_attempts": -1}, r"retry_attempts is -1 .* from 0 to 10000"),
        ({"policy": "drop", "max_record_age_s": -1}, r"max_record_age_s is -1 .* from 60 to"),
    ],
)
def test_a_mapping_that_cannot_keep_the_contract_is_refused(
    props: dict[str, Any], refusal: str
) -> None:
    from stacks.constructs.mapping_props import MappingProps
    from stacks.constructs.policy import Policy

    chosen = props | {"policy": Policy(props.get("policy", "park"))}
    with pytest.raises(ValueError, match=refusal):
        MappingProps(**chosen)


def test_a_consumers_name_is_one_that_the_lot_takes() -> None:
    from stacks.constructs.parking_lot import LotPart

    with pytest.raises(ValueError, match=r"consumer is 'b#c'; allowed: 1 to 100 of"):
        LotPart(None, "b#c")  # type: ignore[arg-type]


def test_the_example_attaches_a_function_in_under_30_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import runpy
    import shutil

    from aws_cdk import App

    shutil.copytree(
        ROOT / "stacks" / "constructs",
        tmp_path / "shardlane_cdk",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    path = ROOT / "examples" / "existing_stream" / "app.py"
    build = runpy.run_path(str(path))["build"]
    app = App(outdir=str(tmp_path / "out"), analytics_reporting=False)
    build(app)
    app.synth()
    for name in [name for name in sys.modules if name.split(".")[0] == "shardlane_cdk"]:
        del sys.modules[name]
    mapping = _mapping(CloudAssembly(tmp_path / "out"))
    assert mapping.properties["EventSourceArn"] == STREAM_ARN
    code = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    assert len(code) < 30
