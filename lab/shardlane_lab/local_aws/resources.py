"""What the template makes beside streams and functions, made in the local services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shardlane_lab.local_lambda.template_values import ResourceSpec

Client = Callable[[str], Any]
Properties = Mapping[str, Any]

_QUEUE_ATTRIBUTES = (
    "ContentBasedDeduplication",
    "DelaySeconds",
    "FifoQueue",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
_TABLE_PARTS = ("AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes")


def create_resources(resources: Iterable[ResourceSpec], client: Client) -> None:
    """Blocks; ``client`` gives the client of a service by its name."""
    for each in resources:
        _CREATE[each.type](each.name, each.properties, client)


def _queue(name: str, properties: Properties, client: Client) -> None:
    attributes = {
        each: str(properties[each]).lower() if properties[each] is True else str(properties[each])
        for each in _QUEUE_ATTRIBUTES
        if properties.get(each) not in (None, False)
    }
    client("sqs").create_queue(QueueName=name, Attributes=attributes)


def _topic(name: str, properties: Properties, client: Client) -> None:
    client("sns").create_topic(Name=name)


def _bucket(name: str, properties: Properties, client: Client) -> None:
    s3 = client("s3")
    region = s3.meta.region_name
    elsewhere = region != "us-east-1"
    place = {"CreateBucketConfiguration": {"LocationConstraint": region}} if elsewhere else {}
    s3.create_bucket(Bucket=name, **place)


def _table(name: str, properties: Properties, client: Client) -> None:
    """On demand, whatever the template says: nothing here costs by capacity."""
    dynamodb = client("dynamodb")
    parts = {each: properties[each] for each in _TABLE_PARTS if each in properties}
    indexes = [
        {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
        for index in properties.get("GlobalSecondaryIndexes", [])
    ]
    if indexes:
        parts["GlobalSecondaryIndexes"] = indexes
    dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **parts)
    lifetime = properties.get("TimeToLiveSpecification")
    if lifetime:
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=lifetime)


def _log_group(name: str, properties: Properties, client: Client) -> None:
    logs = client("logs")
    logs.create_log_group(logGroupName=name)
    days = properties.get("RetentionInDays")
    if days:
        logs.put_retention_policy(logGroupName=name, retentionInDays=days)


_CREATE: Mapping[str, Callable[[str, Properties, Client], None]] = {
    "AWS::SQS::Queue": _queue,
    "AWS::SNS::Topic": _topic,
    "AWS::S3::Bucket": _bucket,
    "AWS::DynamoDB::Table": _table,
    "AWS::DynamoDB::GlobalTable": _table,
    "AWS::Logs::LogGroup": _log_group,
}
