"""How records become batches. Source: "Batching behavior" and "Process Amazon Kinesis Data Streams
records with Lambda", Lambda Developer Guide."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_lambda.kinesis_record import ENVELOPE_BYTES
from shardlane_lab.local_lambda.mapping_config import MAX_EVENT_BYTES
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import succeed


def sizes(trial: MappingTrial) -> list[int]:
    return [len(each.records) for each in trial.invocations]


def test_a_batch_has_at_most_batch_size_records_in_stream_order(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, batch_size=7)
    numbers = trial.put_all([(f"r{i}", f"k{i % 3}") for i in range(17)])
    trial.settle()
    assert sizes(trial) == [7, 7, 3]
    assert [n for each in trial.invocations for n in each.sequence_numbers] == numbers


def test_a_batch_size_of_one(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(succeed, source=source, batch_size=1)
    trial.put_all([("a", "k"), ("b", "k")])
    trial.settle()
    assert sizes(trial) == [1, 1]


def test_an_event_has_at_most_6_mb_with_envelope_and_base64(
    kinesis_mapping: MappingTrials,
) -> None:
    data = b"x" * 900_000
    each_bytes = ENVELOPE_BYTES + 1_200_000
    fit = MAX_EVENT_BYTES // each_bytes
    trial = kinesis_mapping(succeed, batch_size=100, shards=1)
    for _ in range(fit + 1):
        trial.put(data)
        trial.stop()  # let the second's write limit pass without a poll in between
        trial.run(1.1)
    trial.start()
    trial.settle()
    assert sizes(trial) == [fit, 1]


def test_without_a_window_a_batch_goes_as_soon_as_there_is_a_record(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, source="efo")
    trial.run(10.3)
    trial.put("a")
    trial.settle()
    assert trial.invocations[0].at_s == pytest.approx(10.3)


def test_a_window_gathers_from_the_first_record_on(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, maximum_batching_window_s=20)
    trial.run(5)
    for text in ("a", "b", "c"):
        trial.put(text)
        trial.run(6)
    trial.settle()
    assert trial.handled() == ["a", "b", "c"]
    assert sizes(trial) == [3]
    # A standard mapping's window opens when the record is polled, up to a second later.
    assert trial.invocations[0].at_s == pytest.approx(25, abs=1.0)


def test_a_full_batch_does_not_wait_for_its_window(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(succeed, source=source, maximum_batching_window_s=300, batch_size=3)
    trial.put_all([("a", "k"), ("b", "k"), ("c", "k"), ("d", "k")])
    trial.run(2)
    assert trial.handled() == ["a", "b", "c"]
    trial.run(300)
    assert sizes(trial) == [3, 1]


def test_one_batch_of_a_shard_at_a_time(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(succeed, source=source, duration_s=2.5, timeout_s=10, batch_size=2)
    trial.put_all([(str(i), f"k{i}") for i in range(6)])
    trial.settle()
    starts = [each.at_s for each in trial.invocations]
    assert len(starts) == 3
    assert all(later - earlier >= 2.5 for earlier, later in pairwise(starts))


def test_shards_are_independent(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(succeed, source=source, shards=2, duration_s=5, timeout_s=10)
    trial.put("left", hash_key="0")
    trial.put("right", hash_key=str(2**128 - 1))
    trial.settle()
    first, second = trial.invocations
    assert second.at_s - first.at_s < 0.5
    assert {each.records[0]["eventID"].split(":")[0] for each in (first, second)} == {
        "shardId-000000000000",
        "shardId-000000000001",
    }


def test_the_event_has_the_documented_members(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(succeed, source=source, delays=Delays.none())
    number = trial.put(b"\x00\xff binary", key="ключ")
    trial.settle()
    (invocation,) = trial.invocations
    assert list(invocation.event) == ["Records"]
    (record,) = invocation.records
    arrival_s = record["kinesis"].pop("approximateArrivalTimestamp")
    assert isinstance(arrival_s, float)
    assert arrival_s == round(arrival_s, 3)
    assert record["kinesis"] == {
        "kinesisSchemaVersion": "1.0",
        "partitionKey": "ключ",
        "sequenceNumber": number,
        "data": base64.b64encode(b"\x00\xff binary").decode(),
    }
    del record["kinesis"]
    stream = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    event_source = record.pop("eventSourceARN")
    assert record == {
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"shardId-000000000000:{number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": "arn:aws:iam::000000000000:role/function",
        "awsRegion": "us-east-1",
    }
    if source == "standard":
        assert event_source == stream
    else:
        assert event_source.startswith(f"{stream}/consumer/function:")
