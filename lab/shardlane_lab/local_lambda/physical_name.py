"""What a resource is called on this machine: the values of ``Ref`` and ``Fn::GetAtt``.

Source: "Return values" of each resource type, CloudFormation template reference.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shardlane_lab.local_lambda.errors import TemplateError

NAME_PROPERTY = {
    "AWS::Kinesis::Stream": "Name",
    "AWS::Kinesis::StreamConsumer": "ConsumerName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::DynamoDB::GlobalTable": "TableName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::IAM::Role": "RoleName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::CompositeAlarm": "AlarmName",
}
"""Where a type keeps the name that the author chose, if any."""


@dataclass(frozen=True, slots=True)
class Place:
    """The account and region that every ARN names."""

    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class Identity:
    """One resource with its name resolved."""

    stack: str
    logical_id: str
    type: str
    name: str
    parent_arn: str = ""
    """The stream's ARN, of a stream consumer."""


CONSUMER_CREATED_S = 0
"""In the ARN of a stream consumer before it is registered; the service puts its time there."""


def default_name(stack: str, logical_id: str, resource_type: str) -> str:
    """CloudFormation would add a random suffix; here the name is the same in every run."""
    name = f"{stack}-{logical_id}"
    return name.lower() if resource_type == "AWS::S3::Bucket" else name


def reference(identity: Identity, place: Place) -> str:
    """The value of ``Ref``."""
    match identity.type:
        case "AWS::SQS::Queue":
            return queue_url(identity.name, place)
        case "AWS::Lambda::EventSourceMapping":
            return mapping_uuid(identity.stack, identity.logical_id)
        case "AWS::SNS::Topic" | "AWS::Kinesis::StreamConsumer" | "AWS::Lambda::LayerVersion":
            return _ARN[identity.type](identity, place)
        case _:
            return identity.name


def mapping_uuid(stack: str, logical_id: str) -> str:
    """The service draws one; here it is the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{stack}/{logical_id}"))


def queue_url(name: str, place: Place) -> str:
    """No host of the internet: a client without an endpoint of its own goes nowhere."""
    return f"http://sqs.{place.region}.localhost/{place.account}/{name}"


def attribute(identity: Identity, name: str, place: Place) -> str:
    """The value of ``Fn::GetAtt``; raises ``TemplateError`` for one that is not known here."""
    if name in ("Arn", "ConsumerARN", "TopicArn") and identity.type in _ARN:
        return _ARN[identity.type](identity, place)
    match identity.type, name:
        case "AWS::SQS::Queue", "QueueUrl":
            return queue_url(identity.name, place)
        case ("AWS::SQS::Queue", "QueueName") | ("AWS::SNS::Topic", "TopicName"):
            return identity.name
        case "AWS::Kinesis::StreamConsumer", "ConsumerName":
            return identity.name
        case "AWS::Kinesis::StreamConsumer", "StreamARN":
            return identity.parent_arn
    raise TemplateError(
        f"{identity.stack}/{identity.logical_id} ({identity.type}): "
        f"Fn::GetAtt of {name!r} has no value on this machine"
    )


_ARN: Mapping[str, Callable[[Identity, Place], str]] = {
    "AWS::Kinesis::Stream": lambda each, at: at.arn("kinesis", f"stream/{each.name}"),
    "AWS::Kinesis::StreamConsumer": lambda each, _: (
        f"{each.parent_arn}/consumer/{each.name}:{CONSUMER_CREATED_S}"
    ),
    "AWS::Lambda::Function": lambda each, at: at.arn("lambda", f"function:{each.name}"),
    "AWS::Lambda::LayerVersion": lambda each, at: at.arn("lambda", f"layer:{each.name}:1"),
    "AWS::SQS::Queue": lambda each, at: at.arn("sqs", each.name),
    "AWS::SNS::Topic": lambda each, at: at.arn("sns", each.name),
    "AWS::S3::Bucket": lambda each, _: f"arn:aws:s3:::{each.name}",
    "AWS::DynamoDB::Table": lambda each, at: at.arn("dynamodb", f"table/{each.name}"),
    "AWS::DynamoDB::GlobalTable": lambda each, at: at.arn("dynamodb", f"table/{each.name}"),
    "AWS::Logs::LogGroup": lambda each, at: at.arn("logs", f"log-group:{each.name}:*"),
    "AWS::IAM::Role": lambda each, at: f"arn:aws:iam::{at.account}:role/{each.name}",
    "AWS::KMS::Key": lambda each, at: at.arn("kms", f"key/{each.name}"),
    "AWS::CloudWatch::Alarm": lambda each, at: at.arn("cloudwatch", f"alarm:{each.name}"),
    "AWS::CloudWatch::CompositeAlarm": lambda each, at: at.arn("cloudwatch", f"alarm:{each.name}"),
}
