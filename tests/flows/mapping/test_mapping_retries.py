"""Retries, ages and on-failure messages. Source: "Error handling" and "Retain discarded batch
records for a Kinesis Data Streams event source in Lambda", Lambda Developer Guide."""

from __future__ import annotations

import json
import uuid

import pytest

from shardlane_lab.local_lambda.mapping_config import Undocumented
from shardlane_lab.local_lambda.on_failure import object_key
from shardlane_lab.pytest_plugin import MappingTrials
from shardlane_lab.virtual_time import EPOCH_MS
from tests.flows.mapping.answers import Event, first_time, poison, report, succeed

DAY_S = 86_400


def conditions(messages: list[Event]) -> list[str]:
    return [each["requestContext"]["condition"] for each in messages]


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_a_batch_is_tried_once_and_then_as_often_as_retries_allow(
    kinesis_mapping: MappingTrials, source: str, retries: int
) -> None:
    trial = kinesis_mapping(poison("bad"), source=source, maximum_retry_attempts=retries)
    trial.put("bad")
    trial.settle(300)
    assert len(trial.invocations) == 1 + retries
    assert conditions(trial.on_failure) == ["RetryAttemptsExhausted"]


def test_the_shard_goes_on_after_what_was_given_up(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(poison("bad"), source=source, maximum_retry_attempts=1)
    trial.put("bad")
    trial.run(1.5)
    trial.put("good")
    trial.settle()
    assert trial.handled() == ["bad", "bad", "good"]


def test_nothing_newer_of_the_shard_starts_while_a_batch_is_retried(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(poison("bad"), source=source)
    trial.put("bad")
    trial.run(1)
    trial.put("good")
    trial.run(600)
    assert set(trial.handled()) == {"bad"}


def test_without_limits_a_batch_is_retried_until_the_stream_forgets_it(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison("bad"), undocumented=Undocumented(retry_longest_s=600))
    trial.put("bad")
    trial.run(DAY_S - 1200)
    assert trial.on_failure == []
    trial.put("good")
    trial.settle(2 * 1200)
    assert conditions(trial.on_failure) == ["RecordAgeExceeded"]
    assert trial.handled()[-1] == "good"


def test_a_record_over_the_maximum_age_is_given_up(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(poison("bad"), source=source, maximum_record_age_s=60)
    trial.put("bad")
    trial.settle(100)
    assert conditions(trial.on_failure) == ["RecordAgeExceeded"]
    assert 60 < trial.now_s < 100
    assert all(each.at_s <= 60.5 for each in trial.invocations)


def test_a_record_that_is_too_old_when_it_is_read_never_reaches_the_function(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, maximum_record_age_s=60)
    trial.put("warm-up")
    trial.settle()
    trial.stop()
    trial.put("old")
    trial.run(90)
    trial.put("young")
    trial.start()
    trial.settle()
    assert trial.handled() == ["warm-up", "young"]
    (message,) = trial.on_failure
    assert message["requestContext"]["condition"] == "RecordAgeExceeded"
    assert message["requestContext"]["approximateInvokeCount"] == 0
    assert "responseContext" not in message


@pytest.mark.parametrize(("whole", "sizes", "handled"), [(False, [1], ["new"]), (True, [2], [])])
def test_whether_one_old_record_gives_up_its_whole_batch(
    kinesis_mapping: MappingTrials, whole: bool, sizes: list[int], handled: list[str]
) -> None:
    """Undocumented: both answers."""
    trial = kinesis_mapping(
        succeed,
        maximum_record_age_s=60,
        maximum_batching_window_s=30,
        undocumented=Undocumented(age_takes_whole_batch=whole),
    )
    trial.stop()
    trial.put("old")
    trial.run(40)
    trial.put("new")
    trial.start()  # the window opens now and closes when the first record is 70 s old
    trial.settle()
    assert [each["KinesisBatchInfo"]["batchSize"] for each in trial.on_failure] == sizes
    assert trial.handled() == handled


def test_a_throttled_invocation_consumes_no_retry(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    """Two shards share one concurrent invocation: the loser waits and is not given up."""
    trial = kinesis_mapping(
        succeed,
        source=source,
        shards=2,
        concurrency=1,
        duration_s=30,
        timeout_s=60,
        maximum_retry_attempts=0,
    )
    trial.put("left", hash_key="0")
    trial.put("right", hash_key=str(2**128 - 1))
    trial.settle()
    assert sorted(trial.handled()) == ["left", "right"]
    assert trial.on_failure == []
    assert sum(trial.metric("Throttles")) >= 2


def test_throttling_ends_at_the_maximum_age(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(succeed, concurrency=0, maximum_record_age_s=60)
    trial.put("a")
    trial.settle(200)
    assert trial.handled() == []
    assert conditions(trial.on_failure) == ["RecordAgeExceeded"]


def test_the_pause_between_retries_doubles_up_to_its_bound(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(
        poison("bad"),
        source="efo",
        maximum_retry_attempts=5,
        undocumented=Undocumented(retry_first_s=2, retry_longest_s=10),
    )
    trial.put("bad")
    trial.settle()
    assert [each.at_s for each in trial.invocations] == [0, 2, 6, 14, 24, 34]


def test_the_message_about_what_was_given_up(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(poison("b"), source=source, maximum_retry_attempts=2)
    trial.run(3)
    numbers = trial.put_all([("a", "k"), ("b", "k"), ("c", "k")])
    trial.settle()
    (message,) = trial.on_failure
    assert list(message) == [
        "requestContext",
        "responseContext",
        "version",
        "timestamp",
        "KinesisBatchInfo",
    ]
    assert message["requestContext"] == {
        "requestId": trial.invocations[-1].result.request_id,
        "functionArn": "arn:aws:lambda:us-east-1:000000000000:function:function",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 3,
    }
    assert message["responseContext"] == {
        "statusCode": 200,
        "executedVersion": "$LATEST",
        "functionError": "Unhandled",
    }
    assert message["version"] == "1.0"
    arrived = "2026-05-28T20:26:43.000Z"
    assert EPOCH_MS == 1_780_000_000_000
    assert message["KinesisBatchInfo"] == {
        "shardId": "shardId-000000000000",
        "startSequenceNumber": numbers[0],
        "endSequenceNumber": numbers[-1],
        "approximateArrivalOfFirstRecord": arrived,
        "approximateArrivalOfLastRecord": arrived,
        "batchSize": 3,
        "streamArn": "arn:aws:kinesis:us-east-1:000000000000:stream/orders",
    }


def test_a_message_about_a_partial_failure_covers_the_unfinished_records_only(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(report("c"), maximum_retry_attempts=1, report_batch_item_failures=True)
    numbers = trial.put_all([(text, "k") for text in "abcd"])
    trial.settle()
    (message,) = trial.on_failure
    assert message["KinesisBatchInfo"]["startSequenceNumber"] == numbers[2]
    assert message["KinesisBatchInfo"]["batchSize"] == 2
    assert "functionError" not in message["responseContext"]


@pytest.mark.parametrize(("kind", "has_payload"), [("sqs", False), ("sns", False), ("s3", True)])
def test_only_s3_gets_the_event_as_an_escaped_string(
    kinesis_mapping: MappingTrials, kind: str, has_payload: bool
) -> None:
    trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=0, on_failure=kind)
    trial.put("bad")
    trial.settle()
    (message,) = trial.on_failure
    assert ("payload" in message) is has_payload
    if has_payload:
        assert json.loads(message["payload"]) == trial.invocations[0].event


def test_the_key_of_an_s3_object(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=0, on_failure="s3")
    trial.put("bad")
    trial.settle()
    unique = uuid.UUID(int=7)
    assert object_key(trial.on_failure[0], "mapping-uuid", unique) == (
        f"aws/lambda/mapping-uuid/shardId-000000000000/2026/05/28/2026-05-28T20.26.41-{unique}"
    )


def test_without_a_destination_what_is_given_up_is_only_counted(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=0, on_failure=None)
    trial.put("bad")
    trial.settle()
    assert trial.on_failure == []
    assert trial.metric("DroppedEventCount") == [1]
    assert trial.metric("OnFailureDestinationDeliveredEventCount") == []


def test_a_message_that_cannot_be_delivered_is_counted_and_the_shard_goes_on(
    kinesis_mapping: MappingTrials, caplog: pytest.LogCaptureFixture
) -> None:
    trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=0, destination_fails=True)
    trial.put("bad")
    trial.run(2)
    trial.put("good")
    trial.settle()
    assert trial.metric("DestinationDeliveryFailures") == [1]
    assert trial.handled() == ["bad", "good"]
    assert "the destination does not answer" in caplog.text


def test_a_record_too_large_for_any_event_is_given_up_alone(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed)
    size = {"StreamARN": trial.stream_arn, "MaxRecordSizeInKiB": 10_240}
    trial.do(trial.client.call("UpdateMaxRecordSize", size))
    trial.run(5)
    trial.put("before")
    trial.run(6)  # the shard's write limit recovers
    trial.put(b"x" * 5_000_000)
    trial.run(6)
    trial.put("after")
    trial.settle()
    assert trial.handled() == ["before", "after"]
    assert [each["KinesisBatchInfo"]["batchSize"] for each in trial.on_failure] == [1]


def test_an_error_is_retried_and_then_forgotten(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(first_time(RuntimeError("for now")), maximum_retry_attempts=3)
    trial.put("a")
    trial.settle()
    assert trial.handled() == ["a", "a"]
    assert trial.on_failure == []
