"""The facts are read from a scripted account: botocore checks every request, nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from shardlane.operations.diagnosis import Status, diagnose
from shardlane.operations.errors import OperationError
from shardlane.operations.fact_reader import FactReader
from shardlane.operations.facts import Facts
from tests.unit.shardlane.operations.made import MINUTE_MS, NOW_MS, QUEUE_ARN, STREAM_ARN
from tests.unit.shardlane.stepped_clock import SteppedClock

UUID = "6abd3cbd-9777-5f2a-8061-896de3fe936f"
ARRIVED_MS = NOW_MS - 9 * MINUTE_MS
MAPPING = {
    "UUID": UUID,
    "FunctionArn": "arn:aws:lambda:eu-west-1:123456789012:function:billing",
    "EventSourceArn": STREAM_ARN,
    "State": "Enabled",
    "LastProcessingResult": "PROBLEM: Function call failed",
    "MaximumRetryAttempts": -1,
    "MaximumRecordAgeInSeconds": -1,
    "DestinationConfig": {"OnFailure": {"Destination": QUEUE_ARN}},
}
RECORD = {
    "SequenceNumber": "4711",
    "PartitionKey": "bob",
    "Data": b"poison",
    "ApproximateArrivalTimestamp": datetime.fromtimestamp(ARRIVED_MS / 1000, UTC),
}


@cache
def session() -> Any:
    """One for all tests: it keeps the services' models, which take long to read."""
    return boto3.Session("testing", "testing", region_name="eu-west-1")


class Account:
    """Clients with a stub each; ``add`` scripts the next answer of a service."""

    def __init__(self) -> None:
        names = ("lambda", "kinesis", "cloudwatch", "logs", "sqs")
        self._clients = {name: session().client(name) for name in names}
        self._stubs = {name: Stubber(client) for name, client in self._clients.items()}

    def __call__(self, service: str) -> Any:
        return self._clients[service]

    def add(self, service: str, operation: str, answer: dict[str, Any], **request: Any) -> None:
        self._stubs[service].add_response(operation, answer, request or None)

    def deny(self, service: str, operation: str) -> None:
        self._stubs[service].add_client_error(operation, "AccessDeniedException", "not you")

    @contextmanager
    def active(self) -> Iterator[None]:
        for stub in self._stubs.values():
            stub.activate()
        yield
        for stub in self._stubs.values():
            stub.assert_no_pending_responses()
        for client in self._clients.values():
            client.close()


def facts(account: Account, stream: str | None = STREAM_ARN) -> list[Facts]:
    clients: Any = account
    with account.active():
        return FactReader(clients, 3_600, SteppedClock(NOW_MS / 1000)).facts(stream)


def mapped(account: Account, *mappings: dict[str, Any]) -> None:
    account.add("kinesis", "list_stream_consumers", {"Consumers": []}, StreamARN=STREAM_ARN)
    answer = {"EventSourceMappings": list(mappings)}
    account.add("lambda", "list_event_source_mappings", answer, EventSourceArn=STREAM_ARN)


def measured(account: Account, **series: list[tuple[int, float]]) -> None:
    results = [
        {
            "Id": f"m0_{name}",
            "Timestamps": [datetime.fromtimestamp(at_ms / 1000, UTC) for at_ms, _ in points],
            "Values": [value for _, value in points],
        }
        for name, points in series.items()
    ]
    request = {"MetricDataQueries": ANY, "StartTime": ANY, "EndTime": ANY}
    account.add("cloudwatch", "get_metric_data", {"MetricDataResults": results}, **request)


def shaped(account: Account) -> None:
    summary = {
        "StreamName": "order-events",
        "StreamARN": STREAM_ARN,
        "StreamStatus": "ACTIVE",
        "RetentionPeriodHours": 24,
        "StreamCreationTimestamp": datetime.fromtimestamp(0, UTC),
        "EnhancedMonitoring": [],
        "OpenShardCount": 1,
    }
    account.add(
        "kinesis",
        "describe_stream_summary",
        {"StreamDescriptionSummary": summary},
        StreamARN=STREAM_ARN,
    )
    shard = {
        "ShardId": "shardId-000000000000",
        "HashKeyRange": {"StartingHashKey": "0", "EndingHashKey": "1"},
        "SequenceNumberRange": {"StartingSequenceNumber": "1"},
    }
    account.add("kinesis", "list_shards", {"Shards": [shard]}, StreamARN=STREAM_ARN)


def empty_log(account: Account) -> None:
    for _ in range(2):
        account.add("logs", "filter_log_events", {"events": []})


def test_any_function_that_stands_still_is_found_by_its_iterator_age() -> None:
    account = Account()
    mapped(account, MAPPING)
    starts = [NOW_MS - n * MINUTE_MS for n in range(8, 0, -1)]
    measured(
        account,
        ages=[(at_ms, at_ms + 30_000.0 - ARRIVED_MS) for at_ms in starts],
        errors=[(at_ms, 2.0) for at_ms in starts],
    )
    account.add("lambda", "get_function_configuration", {"Timeout": 30}, FunctionName="billing")
    account.add("lambda", "get_function_concurrency", {}, FunctionName="billing")
    empty_log(account)
    shaped(account)
    account.add("sqs", "get_queue_url", {"QueueUrl": "https://sqs/failed"})
    account.add(
        "sqs",
        "get_queue_attributes",
        {"Attributes": {"ApproximateNumberOfMessages": "2"}},
        QueueUrl="https://sqs/failed",
        AttributeNames=["ApproximateNumberOfMessages"],
    )
    account.add("kinesis", "get_shard_iterator", {"ShardIterator": "i"})
    account.add(
        "kinesis",
        "get_records",
        {"Records": [RECORD], "MillisBehindLatest": 5},
        StreamARN=STREAM_ARN,
        ShardIterator="i",
        Limit=1,
    )
    (found,) = facts(account)
    assert found.unread == ()
    assert found.waiting == 2
    finding = diagnose(found, NOW_MS)
    assert finding.status is Status.BLOCKED
    (block,) = finding.blocks
    assert not block.certain
    assert block.held.sequence_number == "4711"
    assert block.prospect.lost_ms == ARRIVED_MS + 24 * 60 * MINUTE_MS


def test_a_permission_that_is_missing_takes_away_one_kind_of_fact_and_is_named() -> None:
    account = Account()
    mapped(account, MAPPING)
    account.deny("cloudwatch", "get_metric_data")
    account.deny("lambda", "get_function_configuration")
    account.deny("logs", "filter_log_events")
    account.deny("kinesis", "describe_stream_summary")
    account.deny("sqs", "get_queue_url")
    (found,) = facts(account)
    assert [each.partition(": no permission for ")[0] for each in found.unread] == [
        "CloudWatch metrics",
        "function billing",
        "log of billing",
        "stream order-events",
        "on-failure destination",
    ]
    assert diagnose(found, NOW_MS).status is Status.UNKNOWN


def test_without_the_mappings_there_is_nothing_to_say() -> None:
    account = Account()
    account.deny("lambda", "list_event_source_mappings")
    with pytest.raises(OperationError, match="no permission for ListEventSourceMappings"):
        facts(account, stream=None)


def test_without_a_stream_every_mapping_on_kinesis_is_looked_at() -> None:
    account = Account()
    others = [
        {"UUID": UUID, "FunctionArn": "f", "EventSourceArn": QUEUE_ARN},
        {"UUID": UUID, "FunctionArn": "f"},
    ]
    account.add("lambda", "list_event_source_mappings", {"EventSourceMappings": others})
    assert facts(account, stream=None) == []


def test_a_function_that_never_ran_has_no_log_and_that_is_no_error() -> None:
    account = Account()
    mapped(account, MAPPING | {"DestinationConfig": {"OnFailure": {}}})
    measured(account)
    account.add("lambda", "get_function_configuration", {"Timeout": 30})
    account.deny("lambda", "get_function_concurrency")
    account._stubs["logs"].add_client_error("filter_log_events", "ResourceNotFoundException")
    shaped(account)
    (found,) = facts(account)
    assert (found.unread, found.logged.read) == ((), True)
    assert found.function.reserved_concurrency is None
