"""Aggregated records: each inner one is a delivery with its place, and a restart skips by it."""

from __future__ import annotations

import hashlib

from shardlane.aggregate import MAGIC
from shardlane.consumer.reading import Reading
from tests.unit.consumer.builders import keyed_channel, raw


def aggregate(*records: tuple[str, bytes]) -> bytes:
    """A KPL aggregate of (key, data) pairs, each key with an entry of its own."""

    def field(tag: int, value: bytes) -> bytes:
        return bytes([tag << 3 | 2, len(value)]) + value

    keys = b"".join(field(1, key.encode()) for key, _ in records)
    packed = b"".join(
        field(3, bytes([1 << 3, index]) + field(3, data)) for index, (_, data) in enumerate(records)
    )
    message = keys + packed
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


THREE = aggregate(("a", b"0"), ("b", b"1"), ("c", b"2"))


def started_at(skip_through: tuple[int, int] | None) -> Reading:
    return Reading(stream="orders", shard_id="shard", skip_through=skip_through)


def test_inner_records_carry_their_own_key_and_place() -> None:
    channel, shard = keyed_channel(width=9), started_at(None)
    channel.offer(shard, [raw(7, "outer", THREE), raw(8, "d", b"3")])
    seen = []
    while (delivery := channel.take(0.0)) is not None:
        record = delivery.record
        seen.append((record.sequence_number, record.sub_sequence_number, record.partition_key))
        channel.settle(delivery)
    assert seen == [("7", 0, "a"), ("7", 1, "b"), ("7", 2, "c"), ("8", 0, "d")]
    assert shard.watermark.position == ("8", 0, 1000, "d")


def test_after_a_crash_within_an_aggregate_only_its_rest_is_delivered() -> None:
    channel, shard = keyed_channel(width=9), started_at((7, 1))
    channel.offer(shard, [raw(7, "outer", THREE), raw(8, "d", b"3")])
    seen = []
    while (delivery := channel.take(0.0)) is not None:
        seen.append((delivery.record.sequence_number, delivery.record.sub_sequence_number))
    assert seen == [("7", 2), ("8", 0)]


def test_a_checkpoint_at_the_last_inner_record_skips_the_whole() -> None:
    channel, shard = keyed_channel(width=9), started_at((7, 2))
    channel.offer(shard, [raw(7, "outer", THREE)])
    assert channel.take(0.0) is None
    assert shard.drained


def test_the_mark_stands_within_an_aggregate() -> None:
    channel, shard = keyed_channel(width=9), started_at(None)
    channel.offer(shard, [raw(7, "outer", THREE)])
    first, second, _third = channel.take(0.0), channel.take(0.0), channel.take(0.0)
    assert first is not None
    assert second is not None
    channel.settle(second)
    channel.settle(first)
    assert shard.watermark.position == ("7", 1, 1000, "b")


def test_a_large_aggregate_does_not_overfill_the_channel() -> None:
    many = aggregate(*((f"k{n}", b"x") for n in range(20)))
    channel, shard = keyed_channel(channel_records=4, width=9), started_at(None)
    channel.offer(shard, [raw(7, "outer", many)])
    assert channel.depth == 4
    taken = 0
    while (delivery := channel.take(0.0)) is not None:
        taken += 1
        channel.settle(delivery)
        assert channel.depth <= 4
    assert taken == 20


def test_a_plain_payload_that_starts_with_the_magic_is_one_record() -> None:
    channel, shard = keyed_channel(width=9), started_at(None)
    channel.offer(shard, [raw(7, "outer", MAGIC + b"not an aggregate at all, really")])
    only = channel.take(0.0)
    assert only is not None
    assert only.record.partition_key == "outer"
    assert channel.take(0.0) is None
