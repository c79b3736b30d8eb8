"""The channel: 64 places, fair shares, bounds that block and never drop."""

from __future__ import annotations

import pytest

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.channel import Channel
from shardlane.consumer.reading import Reading
from shardlane.errors import SettingsError
from tests.unit.consumer.builders import keyed_channel, number, raw, reading, take_all


def pages(channel: Channel, shards: list[Reading], records: int) -> None:
    for shard in shards:
        channel.offer(shard, [raw(n, f"{shard.shard_id}/{n}") for n in range(records)])


def test_it_holds_64_that_have_not_started_and_keeps_the_rest_back() -> None:
    channel, shard = keyed_channel(), reading()
    pages(channel, [shard], 1_000)
    assert channel.depth == 64
    assert len(shard.pending) == 936
    assert not channel.wants_more(shard)


def test_everything_arrives_however_small_the_channel() -> None:
    channel, shard = keyed_channel(channel_records=1), reading()
    pages(channel, [shard], 500)
    for expected in range(500):
        delivery = channel.take(float(expected) * 100)
        assert number(delivery) == expected
        assert delivery is not None
        channel.settle(delivery)
    assert shard.drained


@pytest.mark.parametrize(("count", "share"), [(1, 64), (2, 32), (3, 21), (64, 1)])
def test_each_shard_that_has_data_gets_a_fair_share(count: int, share: int) -> None:
    channel = keyed_channel()
    shards = [reading(f"shard-{n}") for n in range(count)]
    pages(channel, shards, 200)
    assert channel.depth == share * count
    assert {shard.waiting for shard in shards} == {share}


def test_more_shards_than_places_take_turns() -> None:
    channel = keyed_channel(width=100, channel_records=4)
    shards = [reading(f"shard-{n}") for n in range(10)]
    pages(channel, shards, 3)
    turns = [each.reading.shard_id for each in take_all(channel)]
    assert len(turns) == 30
    for length in range(1, 31):
        served = [turns[:length].count(shard.shard_id) for shard in shards]
        assert max(served) - min(served) <= 2


def test_a_shard_that_filled_the_channel_alone_makes_room() -> None:
    """A blocked handler of shard A must not keep shard B out."""
    channel = keyed_channel(lanes=2)
    first, second = reading("A"), reading("B")
    channel.offer(first, [raw(n, "alice") for n in range(64)])
    blocked = channel.take(0.0)
    assert number(blocked) == 0
    channel.offer(first, [raw(64, "alice")])
    assert channel.depth == 64
    channel.offer(second, [raw(n, "bob") for n in range(100)])
    assert channel.depth == 64
    assert (first.waiting, second.waiting) == (32, 32)
    for expected in range(100):
        delivery = channel.take(0.0)
        assert delivery is not None
        assert (delivery.reading, number(delivery)) == (second, expected)
        channel.settle(delivery)
    assert second.drained


def test_what_had_to_make_room_keeps_its_order() -> None:
    channel = keyed_channel(channel_records=4)
    first, second = reading("A"), reading("B")
    channel.offer(first, [raw(n, "a") for n in range(6)])
    channel.offer(second, [raw(n, "b") for n in range(4)])
    seen: list[int] = []
    while (delivery := channel.take(0.0)) is not None:
        if delivery.reading is first:
            seen.append(number(delivery))
        channel.settle(delivery)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert first.drained
    assert second.drained


def test_the_byte_budget_holds_back_all_but_one() -> None:
    channel, shard = keyed_channel(channel_bytes=10), reading()
    channel.offer(shard, [raw(n, "k", b"x" * 100) for n in range(3)])
    assert channel.depth == 1


def test_a_shard_at_its_bound_of_unsettled_records_admits_no_more() -> None:
    channel, shard = keyed_channel(unsettled_records=5), reading()
    channel.offer(shard, [raw(n, "stuck" if n == 0 else f"k{n}") for n in range(20)])
    stuck = channel.take(0.0)
    assert stuck is not None
    channel.set_aside(stuck, due_s=1e9)
    handled = []
    while (delivery := channel.take(0.0)) is not None:
        handled.append(number(delivery))
        channel.settle(delivery)
    assert handled == [1, 2, 3, 4]
    assert channel.is_full(shard)
    assert not channel.await_room(shard)
    assert len(shard.pending) == 15
    told = []
    shard.notify = lambda: told.append(True)
    while (delivery := channel.take(1e9)) is not None:
        channel.settle(delivery)
    assert told
    assert shard.drained


def test_a_thirsty_reader_is_told_once_its_backlog_is_small() -> None:
    channel = keyed_channel(channel_records=4, read_ahead_records=3, width=100)
    shard = reading()
    pages(channel, [shard], 10)
    told = []
    shard.notify = lambda: told.append(len(shard.pending))
    assert not channel.await_room(shard)
    take_all(channel)
    assert told == [2]
    assert channel.await_room(shard)


def test_nothing_starts_at_or_past_the_deadline() -> None:
    channel, shard = keyed_channel(), reading()
    shard.deadline_s = 9.0
    pages(channel, [shard], 3)
    first = channel.take(8.999)
    assert first is not None
    channel.settle(first)
    assert channel.take(9.0) is None
    assert shard.closed
    assert shard.lost
    assert channel.expired == [shard]
    assert channel.depth == 0


def test_what_a_closed_reading_still_runs_moves_no_checkpoint() -> None:
    channel, shard = keyed_channel(), reading()
    pages(channel, [shard], 3)
    running = channel.take(0.0)
    assert running is not None
    channel.close(shard)
    channel.settle(running)
    assert shard.watermark.position is None
    assert (shard.running, channel.depth) == (0, 0)
    channel.offer(shard, [raw(9)])
    assert channel.take(0.0) is None


def test_a_drain_finishes_what_started_and_what_came_before_it() -> None:
    channel, shard = keyed_channel(lanes=2), reading()
    channel.offer(shard, [raw(0, "alice"), raw(1, "carol"), raw(2, "bob"), raw(3, "alice")])
    first, third = channel.take(0.0), channel.take(0.0)
    assert [number(first), number(third)] == [0, 2]
    assert first is not None
    assert third is not None
    channel.halt(shard)
    channel.settle(third)
    assert not shard.idle
    channel.settle(first)
    second = channel.take(0.0)
    assert number(second) == 1
    assert second is not None
    channel.settle(second)
    assert shard.idle
    assert channel.take(0.0) is None
    position = shard.watermark.position
    assert position is not None
    assert position.sequence_number == "2"


def test_a_drain_does_not_wait_for_a_key_that_is_backing_off() -> None:
    channel, shard = keyed_channel(), reading()
    channel.offer(shard, [raw(0, "bad"), raw(1, "bad"), raw(2, "good"), raw(3, "good")])
    bad = channel.take(0.0)
    assert bad is not None
    channel.set_aside(bad, due_s=60.0)
    good = channel.take(0.0)
    assert number(good) == 2
    assert good is not None
    channel.halt(shard)
    channel.settle(good)
    assert shard.idle


def test_a_failure_during_a_drain_ends_it() -> None:
    channel, shard = keyed_channel(lanes=2), reading()
    channel.offer(shard, [raw(0, "alice"), raw(1, "carol"), raw(2, "bob")])
    first, third = channel.take(0.0), channel.take(0.0)
    assert first is not None
    assert third is not None
    channel.halt(shard)
    channel.set_aside(first, due_s=1.0)
    channel.settle(third)
    assert shard.idle
    assert shard.watermark.position is None


def test_an_ended_shard_says_when_it_is_drained() -> None:
    channel, shard = keyed_channel(), reading()
    told = []
    shard.notify = lambda: told.append(True)
    pages(channel, [shard], 1)
    channel.end(shard)
    assert not told
    only = channel.take(0.0)
    assert only is not None
    channel.settle(only)
    assert told
    assert shard.drained


@pytest.mark.parametrize("name", ["channel_records", "unsettled_bytes"])
def test_a_bound_below_one_is_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Bounds(**{name: 0})
