"""Values for the consumer's unit tests."""

from __future__ import annotations

from typing import Any

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.channel import Channel
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.lanes import Lanes
from shardlane.consumer.reading import Reading


def raw(number: int, key: str = "k", data: bytes = b"x", arrival_s: float = 1.0) -> dict[str, Any]:
    """A record as Kinesis returns it."""
    return {
        "SequenceNumber": str(number),
        "PartitionKey": key,
        "Data": data,
        "ApproximateArrivalTimestamp": arrival_s,
    }


def reading(shard_id: str = "shardId-000000000000") -> Reading:
    return Reading(stream="orders", shard_id=shard_id)


def keyed_channel(lanes: int = 1, width: int = 1, **bounds: int) -> Channel:
    return Channel(Lanes(lanes, width), Bounds(**bounds), lambda record: record.partition_key)


def number(delivery: Delivery | None) -> int:
    """The sequence number of what was taken."""
    assert delivery is not None
    return int(delivery.record.sequence_number)


def take_all(channel: Channel, now_s: float = 0.0) -> list[Delivery]:
    taken = []
    while (delivery := channel.take(now_s)) is not None:
        taken.append(delivery)
    return taken
