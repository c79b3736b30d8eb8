"""Reads single records of a stream, sparingly: the shard's five reads a second are shared with
every consumer of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from shardlane.clock import Clock, SystemClock
from shardlane.operations.aws_errors import code_of
from shardlane.operations.errors import OperationError

PAUSE_S = 0.25
"""Between two reads of one shard: at most four of its five a second."""
MOST_EMPTY_PAGES = 40
"""An answer may be empty before the end of the shard; after so many there is nothing near."""
_NOT_HERE = ("InvalidArgumentException", "ResourceNotFoundException")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """A record as GetRecords gives it."""

    shard_id: str
    sequence_number: str
    key: str
    data: bytes
    arrival_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedShard:
    shard_id: str
    first: str
    """The lowest sequence number that it may have."""
    last: str | None
    """The highest one of a closed shard."""

    def may_hold(self, sequence_number: str) -> bool:
        number = int(sequence_number)
        return int(self.first) <= number and (self.last is None or number <= int(self.last))


class StreamReader:
    """Of one stream, named by its ARN. Each method may raise botocore's errors."""

    def __init__(self, kinesis: Any, stream_arn: str, clock: Clock | None = None) -> None:
        self._kinesis = kinesis
        self._arn = stream_arn
        self._clock = clock or SystemClock()

    def shards(self) -> list[ListedShard]:
        # By hand: boto3's paginator sends the stream's name with the token, which is refused.
        request: dict[str, Any] = {"StreamARN": self._arn}
        found = []
        while True:
            answer = self._kinesis.list_shards(**request)
            found += [_listed(each) for each in answer["Shards"]]
            if "NextToken" not in answer:
                return found
            request = {"NextToken": answer["NextToken"]}

    def record(self, shard_id: str, sequence_number: str) -> ReadRecord | None:
        """The record of exactly that number; None if the shard does not have it, or not any
        more."""
        for record in self.records(shard_id, sequence_number, most=1):
            return record if record.sequence_number == sequence_number else None
        return None

    def find(self, sequence_number: str) -> ReadRecord | None:
        """The record in whichever shard has it: one read a shard that may."""
        for shard in self.shards():
            if shard.may_hold(sequence_number):
                found = self.record(shard.shard_id, sequence_number)
                if found is not None:
                    return found
        return None

    def records(self, shard_id: str, sequence_number: str, *, most: int) -> Iterator[ReadRecord]:
        """Up to ``most`` records from that number on; none if the number is not of this shard."""
        try:
            iterator = self._iterator(
                shard_id,
                ShardIteratorType="AT_SEQUENCE_NUMBER",
                StartingSequenceNumber=sequence_number,
            )
        except ClientError as error:
            if code_of(error) in _NOT_HERE:
                return
            raise
        yield from self._from(iterator, shard_id, most)

    def first_since(self, shard_id: str, arrival_ms: int, until_ms: int) -> ReadRecord | None:
        """The first record that arrived at ``arrival_ms`` or later, unless that was after
        ``until_ms``."""
        iterator = self._iterator(
            shard_id, ShardIteratorType="AT_TIMESTAMP", Timestamp=arrival_ms / 1000
        )
        for record in self._from(iterator, shard_id, 1):
            return record if record.arrival_ms <= until_ms else None
        return None

    def _iterator(self, shard_id: str, **position: Any) -> str:
        answer = self._kinesis.get_shard_iterator(StreamARN=self._arn, ShardId=shard_id, **position)
        return str(answer["ShardIterator"])

    def _from(self, iterator: str, shard_id: str, most: int) -> Iterator[ReadRecord]:
        empty = 0
        following: str | None = iterator
        while following is not None and most > 0 and empty < MOST_EMPTY_PAGES:
            answer = self._kinesis.get_records(
                StreamARN=self._arn, ShardIterator=following, Limit=min(most, 10_000)
            )
            for record in answer["Records"]:
                yield _read(record, shard_id)
            most -= len(answer["Records"])
            if not answer["Records"] and not answer.get("MillisBehindLatest"):
                return
            empty = 0 if answer["Records"] else empty + 1
            following = answer.get("NextShardIterator")
            if following is not None and most > 0:
                self._clock.sleep_s(PAUSE_S)


def _listed(shard: dict[str, Any]) -> ListedShard:
    numbers = shard["SequenceNumberRange"]
    return ListedShard(
        shard_id=shard["ShardId"],
        first=numbers["StartingSequenceNumber"],
        last=numbers.get("EndingSequenceNumber"),
    )


def _read(record: dict[str, Any], shard_id: str) -> ReadRecord:
    return ReadRecord(
        shard_id=shard_id,
        sequence_number=record["SequenceNumber"],
        key=record["PartitionKey"],
        data=bytes(record["Data"]),
        arrival_ms=round(record["ApproximateArrivalTimestamp"].timestamp() * 1000),
    )


def stream_arn(kinesis: Any, stream: str) -> str:
    """Of a stream by name or ARN. Raises ``OperationError`` if there is none."""
    if stream.startswith("arn:"):
        return stream
    try:
        summary = kinesis.describe_stream_summary(StreamName=stream)
    except ClientError as error:
        if code_of(error) == "ResourceNotFoundException":
            region = kinesis.meta.region_name
            raise OperationError(f"there is no stream {stream!r} in {region}") from error
        raise
    return str(summary["StreamDescriptionSummary"]["StreamARN"])
