"""One service, two ways to it: what the contract tests speak to.

Both have a clock that only the test moves, so a rule about five minutes takes no time and no
limit depends on how fast this machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from shardlane_lab.local_kinesis.model import Kinesis

SHARD_0 = "shardId-000000000000"
SHARD_1 = "shardId-000000000001"
STREAM = "orders"


class Refused(Exception):
    """The service's error, whichever client saw it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class EventFeed(Protocol):
    """An open subscription. What it received so far is in ``events``."""

    events: list[dict[str, Any]]
    ended: bool
    error: Refused | None


class Service(Protocol):
    model: Kinesis

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Raises ``Refused``."""
        ...

    def subscribe(self, **request: Any) -> EventFeed:
        """Raises ``Refused``."""
        ...

    def until(self, condition: Callable[[], bool]) -> None:
        """Lets what is due happen until the condition holds, without moving the clock. Fails if
        it does not come to hold."""
        ...

    def settle(self) -> None:
        """Lets what is due happen."""
        ...

    def advance(self, seconds: float) -> None: ...

    @property
    def now_ms(self) -> float: ...

    def close(self) -> None: ...


def ms(timestamp: Any) -> float:
    """A time-stamp of either client in epoch milliseconds."""
    seconds = timestamp.timestamp() if isinstance(timestamp, datetime) else timestamp
    return round(float(seconds) * 1000, 3)


# --- steps that many tests begin with -----------------------------------------------------------


def create(service: Service, shards: int = 1, name: str = STREAM, **more: Any) -> str:
    """Creates a stream and returns its ARN."""
    service.call("CreateStream", StreamName=name, ShardCount=shards, **more)
    return arn(service, name)


def arn(service: Service, name: str = STREAM) -> str:
    summary = service.call("DescribeStreamSummary", StreamName=name)
    return str(summary["StreamDescriptionSummary"]["StreamARN"])


def register(service: Service, name: str = "efo") -> str:
    """Registers a consumer of the stream and returns its ARN."""
    made = service.call("RegisterStreamConsumer", StreamARN=arn(service), ConsumerName=name)
    return str(made["Consumer"]["ConsumerARN"])


def put(service: Service, data: bytes = b"x", key: str = "k", **more: Any) -> dict[str, Any]:
    return service.call("PutRecord", StreamName=STREAM, Data=data, PartitionKey=key, **more)


def iterator(
    service: Service, kind: str = "TRIM_HORIZON", shard: str = SHARD_0, **more: Any
) -> str:
    answer = service.call(
        "GetShardIterator", StreamName=STREAM, ShardId=shard, ShardIteratorType=kind, **more
    )
    return str(answer["ShardIterator"])


def read(service: Service, position: str, **more: Any) -> dict[str, Any]:
    return service.call("GetRecords", ShardIterator=position, **more)


def data(records: Sequence[dict[str, Any]]) -> list[bytes]:
    return [record["Data"] for record in records]


def received(feed: EventFeed) -> list[bytes]:
    return [record["Data"] for event in feed.events for record in event["Records"]]


def subscribe(
    service: Service, consumer: str, kind: str = "TRIM_HORIZON", shard: str = SHARD_0, **more: Any
) -> EventFeed:
    position = {"Type": kind, **more}
    return service.subscribe(ConsumerARN=consumer, ShardId=shard, StartingPosition=position)


def shards(service: Service, **more: Any) -> list[dict[str, Any]]:
    """By ListShards, every page."""
    answer = service.call("ListShards", StreamName=STREAM, **more)
    found: list[dict[str, Any]] = answer["Shards"]
    while "NextToken" in answer:
        answer = service.call("ListShards", NextToken=answer["NextToken"])
        found += answer["Shards"]
    return found
