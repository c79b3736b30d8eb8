"""Single records read from the local Kinesis' model, through a client that a test can watch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardlane.operations.errors import OperationError
from shardlane.operations.stream_reader import (
    MOST_EMPTY_PAGES,
    PAUSE_S,
    ListedShard,
    StreamReader,
    stream_arn,
)
from tests.unit.shardlane.operations.made import STREAM_ARN
from tests.unit.shardlane.stepped_clock import SteppedClock

AT = datetime(2026, 11, 30, 8, 0, 0, 71_000, tzinfo=UTC)
AT_MS = round(AT.timestamp() * 1000)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "GetShardIterator")


class ScriptedKinesis:
    """A client that answers page by page; ``shards``: ids with the numbers that each has."""

    def __init__(self, shards: dict[str, list[list[int]]]) -> None:
        self._shards = shards
        self.reads: list[dict[str, Any]] = []
        self.positions: list[dict[str, Any]] = []

    def list_shards(self, **request: Any) -> Any:
        ids = sorted(self._shards)
        page = int(request.get("NextToken", 0))
        assert set(request) == ({"NextToken"} if page else {"StreamARN"})
        shard = {
            "ShardId": ids[page],
            "SequenceNumberRange": {"StartingSequenceNumber": str(page * 100)}
            | ({"EndingSequenceNumber": "99"} if page == 0 and len(ids) > 1 else {}),
        }
        more = {"NextToken": str(page + 1)} if page + 1 < len(ids) else {}
        return {"Shards": [shard], **more}

    def get_shard_iterator(self, **request: Any) -> Any:
        self.positions.append(request)
        if request["ShardId"] not in self._shards:
            raise refused("ResourceNotFoundException")
        if request.get("StartingSequenceNumber") == "13":
            raise refused("InvalidArgumentException")
        return {"ShardIterator": f"{request['ShardId']}/0"}

    def get_records(self, **request: Any) -> Any:
        self.reads.append(request)
        shard, _, page = request["ShardIterator"].partition("/")
        pages = self._shards[shard]
        numbers = pages[int(page)][: request["Limit"]]
        last = int(page) + 1 == len(pages)
        return {
            "Records": [
                {
                    "SequenceNumber": str(number),
                    "PartitionKey": "alice",
                    "Data": b"{}",
                    "ApproximateArrivalTimestamp": AT,
                }
                for number in numbers
            ],
            "NextShardIterator": f"{shard}/{int(page) + (not last)}",
            "MillisBehindLatest": 0 if last else 5_000,
        }


def reader(**shards: list[list[int]]) -> tuple[StreamReader, ScriptedKinesis, SteppedClock]:
    kinesis, clock = ScriptedKinesis(shards), SteppedClock()
    return StreamReader(kinesis, STREAM_ARN, clock), kinesis, clock


def test_shards_are_listed_through_every_page_with_the_token_alone() -> None:
    read, _, _ = reader(a=[[1]], b=[[101]])
    assert read.shards() == [
        ListedShard(shard_id="a", first="0", last="99"),
        ListedShard(shard_id="b", first="100", last=None),
    ]


def test_a_record_is_the_one_of_exactly_that_number() -> None:
    read, _, _ = reader(a=[[12, 14]])
    found = read.record("a", "12")
    assert found is not None
    assert (found.shard_id, found.sequence_number, found.arrival_ms) == ("a", "12", AT_MS)
    assert read.record("a", "11") is None  # what follows an expired one is another one
    assert read.record("a", "13") is None  # not of this shard
    assert read.record("gone", "12") is None


def test_a_record_is_looked_for_only_in_shards_that_may_have_it() -> None:
    read, kinesis, _ = reader(a=[[1]], b=[[105]])
    found = read.find("105")
    assert found is not None
    assert found.shard_id == "b"
    assert [each["ShardId"] for each in kinesis.positions] == ["b"]
    assert read.find("7") is None


def test_empty_pages_are_passed_slowly() -> None:
    read, kinesis, clock = reader(a=[[], [], [5, 6], [7]])
    assert [each.sequence_number for each in read.records("a", "5", most=3)] == ["5", "6", "7"]
    assert clock.slept_s == [PAUSE_S] * 3
    assert [each["Limit"] for each in kinesis.reads] == [3, 3, 3, 1]


def test_a_shard_of_nothing_but_empty_pages_is_left() -> None:
    read, kinesis, _ = reader(a=[[]] * 100)
    assert list(read.records("a", "5", most=1)) == []
    assert len(kinesis.reads) == MOST_EMPTY_PAGES


def test_the_tip_is_an_end() -> None:
    read, kinesis, _ = reader(a=[[5], []])
    assert len(list(read.records("a", "5", most=9))) == 1
    assert len(kinesis.reads) == 2


@pytest.mark.parametrize(("until_ms", "there"), [(AT_MS, True), (AT_MS - 1, False)], ids=str)
def test_the_first_record_of_a_time_counts_only_within_it(until_ms: int, there: bool) -> None:
    read, kinesis, _ = reader(a=[[5]])
    assert (read.first_since("a", AT_MS - 9, until_ms) is not None) is there
    assert kinesis.positions[0]["Timestamp"] == (AT_MS - 9) / 1000


def test_any_other_refusal_is_an_error() -> None:
    read, kinesis, _ = reader(a=[[5]])

    def denied(**request: Any) -> Any:
        raise refused("AccessDeniedException")

    kinesis.get_shard_iterator = denied  # type: ignore[method-assign]
    with pytest.raises(ClientError, match="AccessDenied"):
        read.record("a", "5")


class Described:
    class meta:  # noqa: N801  # as botocore names it
        region_name = "eu-west-1"

    def describe_stream_summary(self, **request: str) -> Any:
        if request["StreamName"] != "orders":
            raise refused("ResourceNotFoundException")
        return {"StreamDescriptionSummary": {"StreamARN": STREAM_ARN}}


def test_a_stream_is_named_by_name_or_arn() -> None:
    assert stream_arn(None, STREAM_ARN) == STREAM_ARN
    assert stream_arn(Described(), "orders") == STREAM_ARN
    with pytest.raises(OperationError, match="there is no stream 'none' in eu-west-1"):
        stream_arn(Described(), "none")
