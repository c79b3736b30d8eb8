"""Each statement of each role, one by one: what is not in this file is not allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.cloud_assembly import CloudAssembly, Resource
from tests.infra.conftest import KEY

READ_STREAM = [
    "kinesis:DescribeStream",
    "kinesis:DescribeStreamSummary",
    "kinesis:GetRecords",
    "kinesis:GetShardIterator",
    "kinesis:ListShards",
    "kinesis:ListStreams",
]
WRITE_LOGS = ["logs:CreateLogStream", "logs:PutLogEvents"]


PARK = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
OF_THIS_ACCOUNT = {"StringEquals": {"s3:ResourceAccount": {"Ref": "AWS::AccountId"}}}
# The only statements of a role or a resource's policy that may be about everything or everybody:
# they deny.
DENIES_PLAIN_HTTP = {"Bool": {"aws:SecureTransport": "false"}}
DENIES_OLD_TLS = {"NumericLessThan": {"s3:TlsVersion": 1.2}}


def _role_of(assembly: CloudAssembly, function_name: str) -> Resource:
    function = assembly.one("AWS::Lambda::Function", FunctionName=function_name)
    return assembly.follow(function.properties["Role"])[0]


def _allowed(assembly: CloudAssembly, function_name: str) -> list[tuple[Any, str, str]]:
    """(actions, the type of the resource and its name, with what follows its ARN) of each
    statement without a condition."""
    return [
        (statement["Action"], *_on(assembly, statement["Resource"]))
        for statement in assembly.statements(_role_of(assembly, function_name))
        if "Condition" not in statement
    ]


def _conditional(assembly: CloudAssembly, function_name: str) -> list[tuple[Any, str, str, Any]]:
    return [
        (statement["Action"], *_on(assembly, statement["Resource"]), statement["Condition"])
        for statement in assembly.statements(_role_of(assembly, function_name))
        if "Condition" in statement
    ]


def _on(assembly: CloudAssembly, target: Any) -> tuple[str, str]:
    if isinstance(target, str):
        return "", target
    resource, attribute = assembly.follow(target)
    ending = attribute.removeprefix("ConsumerARN").removeprefix("Arn")
    return resource.type, _name(resource) + ending


def _name(resource: Resource) -> str:
    names = ("Name", "ConsumerName", "LogGroupName", "FunctionName")
    return next((resource.properties[each] for each in names if each in resource.properties), "")


def test_the_standard_function_may_poll_the_stream_and_park(distinct: CloudAssembly) -> None:
    assert _allowed(distinct, "read-shared") == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", "/aws/lambda/read-shared"),
        ("sqs:SendMessage", "AWS::SQS::Queue", ""),
        (READ_STREAM, "AWS::Kinesis::Stream", "orders"),
        (PARK, "AWS::DynamoDB::Table", ""),
        ("s3:PutObject", "AWS::S3::Bucket", "/shardlane/*"),
    ]
    assert _conditional(distinct, "read-shared") == []


def test_the_efo_function_may_subscribe_as_its_consumer_and_park(distinct: CloudAssembly) -> None:
    assert _allowed(distinct, "read-pushed") == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", "/aws/lambda/read-pushed"),
        ("sqs:SendMessage", "AWS::SQS::Queue", ""),
        (READ_STREAM, "AWS::Kinesis::Stream", "orders"),
        (
            ["kinesis:DescribeStreamConsumer", "kinesis:SubscribeToShard"],
            "AWS::Kinesis::StreamConsumer",
            "orders-pushed",
        ),
        (PARK, "AWS::DynamoDB::Table", ""),
        ("s3:PutObject", "AWS::S3::Bucket", "/shardlane/*"),
    ]
    assert _conditional(distinct, "read-pushed") == []


def test_a_redrive_may_empty_the_lot_and_invoke_its_consumer(distinct: CloudAssembly) -> None:
    for name in ("read-shared", "read-pushed"):
        assert _allowed(distinct, f"{name}-redrive") == [
            (WRITE_LOGS, "AWS::Logs::LogGroup", f"/aws/lambda/{name}-redrive"),
            (
                ["dynamodb:DeleteItem", *PARK[:1], *PARK[2:]],
                "AWS::DynamoDB::Table",
                "",
            ),
            (["s3:DeleteObject", "s3:GetObject"], "AWS::S3::Bucket", "/shardlane/*"),
            ("lambda:InvokeFunction", "AWS::Lambda::Function", name),
        ]


def test_the_load_function_may_put_records(distinct: CloudAssembly) -> None:
    assert _allowed(distinct, "order-service-load") == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", "/aws/lambda/order-service-load"),
        ("kinesis:PutRecord", "AWS::Kinesis::Stream", "orders"),
    ]


def test_without_parking_the_lot_is_out_of_reach(otherwise: CloudAssembly) -> None:
    name = "order-latency-standard"
    assert _allowed(otherwise, name) == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", f"/aws/lambda/{name}"),
        (["kms:Decrypt", "kms:GenerateDataKey"], "", KEY),
        (READ_STREAM, "AWS::Kinesis::Stream", "order-events"),
    ]
    assert _conditional(otherwise, name) == [
        ("s3:PutObject", "AWS::S3::Bucket", "/aws/lambda/*", OF_THIS_ACCOUNT),
        ("s3:ListBucket", "AWS::S3::Bucket", "", OF_THIS_ACCOUNT),
    ]


@pytest.mark.parametrize("name", ["read-shared", "read-pushed"])
def test_lambda_alone_takes_the_role(distinct: CloudAssembly, name: str) -> None:
    assert _role_of(distinct, name).properties["AssumeRolePolicyDocument"]["Statement"] == [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "lambda.amazonaws.com"},
        }
    ]


def _statements(assembly: CloudAssembly) -> list[dict[str, Any]]:
    return [
        statement
        for resource in assembly.resources
        for name in ("PolicyDocument", "AssumeRolePolicyDocument")
        for statement in resource.properties.get(name, {}).get("Statement", [])
    ]


@pytest.mark.parametrize("variant", ["distinct", "otherwise", "dev", "prod"])
def test_nothing_is_allowed_on_everything(variant: str, request: pytest.FixtureRequest) -> None:
    for statement in _statements(request.getfixturevalue(variant)):
        if statement["Effect"] == "Deny":
            assert statement["Condition"] in (DENIES_PLAIN_HTTP, DENIES_OLD_TLS)
            continue
        actions = statement["Action"]
        for action in [actions] if isinstance(actions, str) else actions:
            assert "*" not in action, statement
        assert statement.get("Resource") != "*", statement
        assert statement.get("Principal") not in ("*", {"AWS": "*"}), statement


def test_there_are_no_other_roles_and_policies(distinct: CloudAssembly) -> None:
    kinds = [each.type for each in distinct.resources if each.type.startswith("AWS::IAM::")]
    assert sorted(kinds) == ["AWS::IAM::Policy"] * 5 + ["AWS::IAM::Role"] * 5


def test_a_function_waits_for_what_it_may_do(distinct: CloudAssembly) -> None:
    """Lambda checks the role when the mapping is created, so the policy has to be there."""
    for function in distinct.of_type("AWS::Lambda::Function"):
        role, _ = distinct.follow(function.properties["Role"])
        policies = [
            policy.logical_id
            for policy in distinct.of_type("AWS::IAM::Policy")
            if {"Ref": role.logical_id} in policy.properties["Roles"]
        ]
        assert policies
        assert set(policies) <= set(function.body["DependsOn"])
