"""Lanes: a key in one lane, in order, one at a time; a failing key costs only itself."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from shardlane.consumer.channel import Channel
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.lanes import Lanes
from tests.unit.consumer.builders import keyed_channel, number, raw, reading, take_all


def test_two_lanes_share_three_customers_as_published() -> None:
    lanes = Lanes(count=2)
    assert lanes.lane_of("alice") == lanes.lane_of("carol")
    assert lanes.lane_of("bob") != lanes.lane_of("alice")


@given(st.text(), st.integers(2, 64))
def test_a_key_always_has_the_same_lane(key: str, count: int) -> None:
    lanes = Lanes(count=count)
    expected = zlib.crc32(key.encode("utf-8", "surrogatepass")) % count
    assert lanes.lane_of(key) == expected


def test_a_busy_lane_does_not_block_the_others() -> None:
    channel, shard = keyed_channel(lanes=2), reading()
    channel.offer(shard, [raw(1, "alice"), raw(2, "carol"), raw(3, "bob")])
    assert [number(each) for each in take_all(channel)] == [1, 3]


def test_a_plain_loop_keeps_arrival_order() -> None:
    channel, shard = keyed_channel(), reading()
    channel.offer(shard, [raw(n, f"k{n % 3}") for n in range(6)])
    seen = []
    while (delivery := channel.take(0.0)) is not None:
        assert channel.take(0.0) is None
        seen.append(number(delivery))
        channel.settle(delivery)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_pool_runs_up_to_its_width_whatever_the_key() -> None:
    channel = Channel(Lanes(1, width=3), keyed_channel()._bounds, lambda record: None)
    channel.offer(reading(), [raw(n, "same") for n in range(5)])
    assert [number(each) for each in take_all(channel)] == [0, 1, 2]


def test_a_failing_key_is_set_aside_and_its_lane_goes_on() -> None:
    channel, shard = keyed_channel(), reading()
    channel.offer(shard, [raw(1, "a"), raw(2, "a"), raw(3, "b"), raw(4, "a")])
    failing = channel.take(0.0)
    assert failing is not None
    channel.set_aside(failing, due_s=5.0)
    assert run(channel, 0.0) == [3]
    assert channel.take(4.999) is None
    assert run(channel, 5.0) == [1, 2, 4]
    assert shard.watermark.outstanding == 0


def test_what_is_set_aside_frees_its_place_in_the_channel() -> None:
    channel, shard = keyed_channel(channel_records=2), reading()
    channel.offer(shard, [raw(n, "a") for n in range(10)] + [raw(10, "b")])
    failing = channel.take(0.0)
    assert failing is not None
    channel.set_aside(failing, due_s=9.0)
    assert run(channel, 0.0) == [10]


def test_a_retry_goes_before_what_arrived_later() -> None:
    channel, shard = keyed_channel(), reading()
    channel.offer(shard, [raw(1, "a"), raw(2, "b"), raw(3, "b")])
    failing = channel.take(0.0)
    assert failing is not None
    channel.set_aside(failing, due_s=1.0)
    running = channel.take(0.0)
    assert running is not None
    channel.settle(running)
    assert number(channel.take(1.0)) == 1


def run(channel: Channel, now_s: float) -> list[int]:
    """Takes and settles until nothing may start."""
    seen = []
    while (delivery := channel.take(now_s)) is not None:
        seen.append(number(delivery))
        channel.settle(delivery)
    return seen


@given(
    keys=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=60),
    lanes=st.integers(1, 5),
    script=st.lists(st.integers(0, 9), min_size=50, max_size=200),
)
def test_any_history_keeps_the_order_of_each_key(
    keys: list[str], lanes: int, script: list[int]
) -> None:
    """Steps drawn at random: take, settle one that runs, or fail it; at the end all is settled."""
    channel, shard = keyed_channel(lanes=lanes, channel_records=8), reading()
    channel.offer(shard, [raw(n, key) for n, key in enumerate(keys)])
    running: list[Delivery] = []
    handled: list[int] = []
    now_s = 0.0
    for draw in [*script, *[0, 5] * (4 * len(keys))]:
        now_s += 1.0
        if draw < 4:
            delivery = channel.take(now_s)
            if delivery is not None:
                earlier = [n for n in range(number(delivery)) if keys[n] == keys[number(delivery)]]
                assert set(earlier) <= set(handled)
                assert all(each.key != delivery.key for each in running)
                running.append(delivery)
        elif running and draw < 8:
            delivery = running.pop(draw % len(running))
            channel.settle(delivery)
            handled.append(number(delivery))
        elif running:
            channel.set_aside(running.pop(draw % len(running)), now_s + draw)
        assert channel.depth <= 8
    now_s += 100.0
    for _ in range(2 * len(keys)):
        for delivery in running:
            channel.settle(delivery)
            handled.append(number(delivery))
        running = take_all(channel, now_s)
    assert sorted(handled) == list(range(len(keys)))
    assert shard.drained
