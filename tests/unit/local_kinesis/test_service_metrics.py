"""The metrics that the service publishes in AWS/Kinesis, under CloudWatch's names."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import Any

import pytest

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.metric import Datum

EPOCH_MS = 1_780_000_000_000.0
STREAM = (("StreamName", "orders"),)
CONSUMER = (("ConsumerName", "efo"), ("StreamName", "orders"))


class Watched:
    """A stream whose metrics are collected by name."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = defaultdict(list)
        self.dimensions: dict[str, Any] = {}
        self.now_ms = EPOCH_MS
        self.model = Kinesis(observer=self._observe)
        self.call("CreateStream", StreamName="orders", ShardCount=1)

    def _observe(self, datum: Datum) -> None:
        assert datum.namespace == "AWS/Kinesis"
        assert datum.at_ms == self.now_ms
        self.values[datum.name].append(datum.value)
        self.dimensions[datum.name] = datum.dimensions

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.model.call(operation, request, self.now_ms)

    def iterator(self) -> str:
        answer = self.call(
            "GetShardIterator",
            StreamName="orders",
            ShardId="shardId-000000000000",
            ShardIteratorType="TRIM_HORIZON",
        )
        return str(answer["ShardIterator"])


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_writes(watched: Watched) -> None:
    watched.call("PutRecord", StreamName="orders", Data=b"12345", PartitionKey="key")
    entries = [{"Data": b"1234567", "PartitionKey": "key"}] * 3
    watched.call("PutRecords", StreamName="orders", Records=entries)
    assert watched.values["IncomingBytes"] == [8, 30]
    assert watched.values["IncomingRecords"] == [1, 3]
    assert watched.values["PutRecord.Success"] == [1]
    assert watched.values["PutRecords.Success"] == [1]
    assert watched.values["PutRecords.SuccessfulRecords"] == [3]
    assert watched.dimensions["IncomingBytes"] == STREAM


def test_throttled_writes(watched: Watched) -> None:
    watched.call("PutRecord", StreamName="orders", Data=b"x" * 2**20, PartitionKey="k")
    with pytest.raises(ServiceError):
        watched.call("PutRecord", StreamName="orders", Data=b"x", PartitionKey="k")
    entries = [{"Data": b"x", "PartitionKey": "k"}] * 2
    watched.call("PutRecords", StreamName="orders", Records=entries)
    assert watched.values["WriteProvisionedThroughputExceeded"] == [1, 1, 1]
    assert watched.values["PutRecord.Success"] == [1, 0]
    assert watched.values["PutRecords.Success"] == [0]
    assert watched.values["PutRecords.ThrottledRecords"] == [2]


def test_reads_and_throttled_reads(watched: Watched) -> None:
    watched.call("PutRecord", StreamName="orders", Data=b"1234", PartitionKey="k")
    watched.now_ms += 1500
    iterator = watched.iterator()
    for _ in range(7):
        with contextlib.suppress(ServiceError):
            watched.call("GetRecords", ShardIterator=iterator)
    assert watched.values["GetRecords.Success"] == [1] * 5 + [0] * 2
    assert watched.values["ReadProvisionedThroughputExceeded"] == [1, 1]
    assert watched.values["GetRecords.Records"] == [1] * 5
    assert watched.values["GetRecords.Bytes"] == [5] * 5
    assert watched.values["GetRecords.IteratorAgeMilliseconds"] == [1500] * 5
    assert watched.dimensions["GetRecords.Success"] == STREAM


def test_the_iterator_age_of_an_empty_read_is_zero(watched: Watched) -> None:
    watched.call("GetRecords", ShardIterator=watched.iterator())
    assert watched.values["GetRecords.IteratorAgeMilliseconds"] == [0]


def test_subscriptions(watched: Watched) -> None:
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    made = watched.call("RegisterStreamConsumer", StreamARN=arn, ConsumerName="efo")
    watched.call("PutRecord", StreamName="orders", Data=b"1234", PartitionKey="k")
    request = {
        "ConsumerARN": made["Consumer"]["ConsumerARN"],
        "ShardId": "shardId-000000000000",
        "StartingPosition": {"Type": "TRIM_HORIZON"},
    }
    subscription = watched.model.subscribe(request, watched.now_ms)
    assert subscription.next_event(watched.now_ms) is not None
    with pytest.raises(ServiceError):
        watched.model.subscribe(request, watched.now_ms)
    assert watched.values["SubscribeToShard.Success"] == [1, 0]
    assert watched.values["SubscribeToShard.RateExceeded"] == [1]
    assert watched.values["SubscribeToShardEvent.Success"] == [1]
    assert watched.values["SubscribeToShardEvent.Records"] == [1]
    assert watched.values["SubscribeToShardEvent.Bytes"] == [5]
    assert watched.values["SubscribeToShardEvent.MillisBehindLatest"] == [0]
    assert watched.dimensions["SubscribeToShardEvent.Records"] == CONSUMER
