"""Each statement of each role, one by one: what is not in this file is not allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.cloud_assembly import CloudAssembly, Resource

READ_STREAM = [
    "kinesis:DescribeStream",
    "kinesis:DescribeStreamSummary",
    "kinesis:GetRecords",
    "kinesis:GetShardIterator",
    "kinesis:ListShards",
    "kinesis:ListStreams",
]
WRITE_LOGS = ["logs:CreateLogStream", "logs:PutLogEvents"]


def _role_of(assembly: CloudAssembly, function_name: str) -> Resource:
    function = assembly.one("AWS::Lambda::Function", FunctionName=function_name)
    return assembly.follow(function.properties["Role"])[0]


def _allowed(assembly: CloudAssembly, function_name: str) -> list[tuple[Any, str, str]]:
    """(actions, the type of the resource and its name) of each statement."""
    allowed = []
    for statement in assembly.statements(_role_of(assembly, function_name)):
        assert set(statement) == {"Effect", "Action", "Resource"}
        assert statement["Effect"] == "Allow"
        resource, attribute = assembly.follow(statement["Resource"])
        assert attribute in ("Arn", "ConsumerARN")
        allowed.append((statement["Action"], resource.type, _name(resource)))
    return allowed


def _name(resource: Resource) -> str:
    names = ("Name", "ConsumerName", "LogGroupName")
    return next((resource.properties[each] for each in names if each in resource.properties), "")


def test_the_standard_function_may_poll_the_stream(distinct: CloudAssembly) -> None:
    assert _allowed(distinct, "read-shared") == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", "/aws/lambda/read-shared"),
        (READ_STREAM, "AWS::Kinesis::Stream", "orders"),
        ("sqs:SendMessage", "AWS::SQS::Queue", ""),
    ]


def test_the_efo_function_may_subscribe_as_its_consumer(distinct: CloudAssembly) -> None:
    assert _allowed(distinct, "read-pushed") == [
        (WRITE_LOGS, "AWS::Logs::LogGroup", "/aws/lambda/read-pushed"),
        (READ_STREAM, "AWS::Kinesis::Stream", "orders"),
        (
            ["kinesis:DescribeStreamConsumer", "kinesis:SubscribeToShard"],
            "AWS::Kinesis::StreamConsumer",
            "orders-pushed",
        ),
        ("sqs:SendMessage", "AWS::SQS::Queue", ""),
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


def test_there_are_no_other_roles_and_policies(distinct: CloudAssembly) -> None:
    kinds = [each.type for each in distinct.resources if each.type.startswith("AWS::IAM::")]
    assert sorted(kinds) == ["AWS::IAM::Policy"] * 2 + ["AWS::IAM::Role"] * 2


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
