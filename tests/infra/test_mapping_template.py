from __future__ import annotations

import pytest

from tests.infra.cloud_assembly import CloudAssembly, Resource
from tests.infra.conftest import EFO_MAPPING, STANDARD_MAPPING

MAPPING = "AWS::Lambda::EventSourceMapping"


def _mapping_of(assembly: CloudAssembly, function_name: str) -> Resource:
    found = [
        mapping
        for mapping in assembly.of_type(MAPPING)
        if assembly.follow(mapping.properties["FunctionName"])[0].properties["FunctionName"]
        == function_name
    ]
    assert len(found) == 1
    return found[0]


def test_the_settings_of_these_tests_are_pairwise_different() -> None:
    numbers = [
        value for value in (*STANDARD_MAPPING.values(), *EFO_MAPPING.values()) if type(value) is int
    ]
    assert len(numbers) == len(set(numbers)) == 8


def test_every_parameter_of_the_standard_mapping(distinct: CloudAssembly) -> None:
    properties = dict(_mapping_of(distinct, "read-shared").properties)
    for reference in ("FunctionName", "EventSourceArn", "DestinationConfig", "Tags"):
        properties.pop(reference)
    assert properties == {
        "BatchSize": 101,
        "MaximumBatchingWindowInSeconds": 2,
        "ParallelizationFactor": 3,
        "MaximumRetryAttempts": 307,
        "MaximumRecordAgeInSeconds": -1,
        "StartingPosition": "TRIM_HORIZON",
        "BisectBatchOnFunctionError": True,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "MetricsConfig": {"Metrics": ["EventCount"]},
    }


def test_every_parameter_of_the_efo_mapping(distinct: CloudAssembly) -> None:
    properties = dict(_mapping_of(distinct, "read-pushed").properties)
    for reference in ("FunctionName", "EventSourceArn", "DestinationConfig", "Tags"):
        properties.pop(reference)
    assert properties == {
        "BatchSize": 211,
        "MaximumBatchingWindowInSeconds": 5,
        "ParallelizationFactor": 4,
        "MaximumRetryAttempts": 411,
        "MaximumRecordAgeInSeconds": -1,
        "StartingPosition": "LATEST",
        "BisectBatchOnFunctionError": False,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "MetricsConfig": {"Metrics": ["EventCount"]},
    }


@pytest.mark.parametrize("function_name", ["order-latency-standard", "order-latency-efo"])
def test_the_defaults_are_those_of_the_comparison(dev: CloudAssembly, function_name: str) -> None:
    properties = _mapping_of(dev, function_name).properties
    assert properties["BatchSize"] == 100
    assert properties["MaximumBatchingWindowInSeconds"] == 0
    assert properties["ParallelizationFactor"] == 1
    assert properties["StartingPosition"] == "LATEST"
    assert properties["BisectBatchOnFunctionError"] is True
    assert properties["MaximumRetryAttempts"] == 10
    assert properties["MaximumRecordAgeInSeconds"] == 3_600


def test_what_is_chosen_goes_over_what_goes_with_the_policy(otherwise: CloudAssembly) -> None:
    chosen = _mapping_of(otherwise, "order-latency-standard").properties
    left = _mapping_of(otherwise, "order-latency-efo").properties
    names = ("MaximumRetryAttempts", "MaximumRecordAgeInSeconds")
    assert [chosen[name] for name in names] == [7, 601]
    assert [left[name] for name in names] == [10, 3_600]


def test_who_parks_keeps_trying(prod: CloudAssembly) -> None:
    properties = _mapping_of(prod, "order-latency-standard").properties
    assert properties["MaximumRetryAttempts"] == 100
    assert properties["MaximumRecordAgeInSeconds"] == -1


def test_production_misses_nothing_when_a_mapping_is_replaced(prod: CloudAssembly) -> None:
    for name in ("order-latency-standard", "order-latency-efo"):
        assert _mapping_of(prod, name).properties["StartingPosition"] == "TRIM_HORIZON"


def test_a_bucket_takes_the_whole_event(otherwise: CloudAssembly) -> None:
    for name in ("order-latency-standard", "order-latency-efo"):
        destination = _mapping_of(otherwise, name).properties["DestinationConfig"]
        bucket, attribute = otherwise.follow(destination["OnFailure"]["Destination"])
        assert (bucket.type, attribute) == ("AWS::S3::Bucket", "Arn")
        expirations = [
            rule.get("ExpirationInDays")
            for rule in bucket.properties["LifecycleConfiguration"]["Rules"]
        ]
        assert expirations == [None, 31]


def test_the_standard_mapping_reads_the_stream(distinct: CloudAssembly) -> None:
    mapping = _mapping_of(distinct, "read-shared")
    source, attribute = distinct.follow(mapping.properties["EventSourceArn"])
    assert (source.type, attribute) == ("AWS::Kinesis::Stream", "Arn")


def test_the_efo_mapping_reads_the_registered_consumer(distinct: CloudAssembly) -> None:
    mapping = _mapping_of(distinct, "read-pushed")
    source, attribute = distinct.follow(mapping.properties["EventSourceArn"])
    assert (source.type, attribute) == ("AWS::Kinesis::StreamConsumer", "ConsumerARN")
    assert source.properties["ConsumerName"] == "orders-pushed"


@pytest.mark.parametrize("function_name", ["read-shared", "read-pushed"])
def test_what_is_given_up_goes_to_the_queue(distinct: CloudAssembly, function_name: str) -> None:
    destination = _mapping_of(distinct, function_name).properties["DestinationConfig"]
    queue, attribute = distinct.follow(destination["OnFailure"]["Destination"])
    assert (queue.type, attribute) == ("AWS::SQS::Queue", "Arn")


def test_the_queue_is_encrypted_and_takes_no_plain_http(distinct: CloudAssembly) -> None:
    queue = distinct.one("AWS::SQS::Queue")
    assert queue.properties["SqsManagedSseEnabled"] is True
    assert queue.properties["MessageRetentionPeriod"] == 13 * 86_400
    policy = distinct.one("AWS::SQS::QueuePolicy").properties
    assert policy["Queues"] == [{"Ref": queue.logical_id}]
    assert policy["PolicyDocument"]["Statement"] == [
        {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "sqs:*",
            "Resource": {"Fn::GetAtt": [queue.logical_id, "Arn"]},
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]
