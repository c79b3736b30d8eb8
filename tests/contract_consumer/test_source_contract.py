"""What both sources promise, whatever is between them and the service."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from shardlane import Record
from shardlane.consumer import Position
from shardlane.consumer.errors import StreamNotFound
from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from tests.contract_consumer.sources import KINDS, SHARD, Kind, Scene, play, stats_of

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=str)

MIB = 1024 * 1024


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_a_record_arrives_with_everything_that_the_service_says_of_it(kind: Kind) -> None:
    async def scene(staged: Scene) -> tuple[str, Record]:
        number = staged.put(b"\x00\xff", "schl\N{LATIN SMALL LETTER U WITH DIAERESIS}ssel 🔑")
        staged.start()
        await staged.until_seen(1)
        return number, staged.seen[0]

    number, record = play(kind, scene)
    assert record.data == b"\x00\xff"
    assert record.partition_key == "schlüssel 🔑"
    assert (record.sequence_number, record.sub_sequence_number) == (number, 0)
    assert (record.stream, record.shard_id) == ("orders", SHARD)
    assert isinstance(record.arrival_ms, int)
    assert record.arrival_ms > 1_700_000_000_000


def test_the_smallest_and_the_largest_record(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[int]:
        staged.put(b"")
        staged.put(b"x" * (MIB - 1))
        staged.start()
        await staged.until_seen(2)
        return [len(each.data) for each in staged.seen]

    assert play(kind, scene) == [0, MIB - 1]


def test_from_the_horizon_everything_comes_once_and_in_order(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[str]:
        staged.put_all(*numbers(300))
        staged.start()
        await staged.until_seen(1)
        staged.put_all(*(str(number) for number in range(300, 400)))
        await staged.until_seen(400)
        await asyncio.sleep(0.5)
        return staged.data

    assert play(kind, scene) == numbers(400)


def test_from_latest_what_was_there_before_stays_out(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[str]:
        staged.put_all("old")
        await asyncio.sleep(1.1)  # "now" is told in whole seconds
        subscription = staged.start(start=Position.latest())
        await staged.until_reading(subscription)
        staged.put_all("new")
        await staged.until_seen(1)
        return staged.data

    assert play(kind, scene) == ["new"]


def test_from_a_time_on(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[str]:
        staged.put_all("1", "2")
        await asyncio.sleep(0.05)
        staged.put_all("3")
        staged.start(start=Position.timestamp(await staged.newest_arrival_ms()))
        await staged.until_seen(1)
        return staged.data

    assert play(kind, scene) == ["3"]


def test_from_a_record_on(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[str]:
        staged.put_all("1")
        number = staged.put(b"2")
        staged.put_all("3")
        staged.start(start=Position.sequence(SHARD, number))
        await staged.until_seen(2)
        return staged.data

    assert play(kind, scene) == ["2", "3"]


def test_after_a_restart_it_goes_on_after_the_last_settled_record(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[str]:
        staged.put_all(*numbers(10))
        first = staged.start()
        await staged.until_seen(10)
        await staged.stop(first)
        staged.put_all("10", "11")
        staged.start()
        await staged.until_seen(12)
        await asyncio.sleep(0.5)
        return staged.data

    assert play(kind, scene) == numbers(12)


def test_a_position_that_the_shard_never_had_falls_to_the_horizon(kind: Kind) -> None:
    async def scene(staged: Scene) -> tuple[list[str], int]:
        staged.put_all("1", "2")
        subscription = staged.start(start=Position.sequence(SHARD, "42"))
        await staged.until_seen(2)
        return staged.data, subscription.stats().counters.gaps

    assert play(kind, scene) == (["1", "2"], 1)


def test_a_shard_ends_and_its_children_follow(kind: Kind) -> None:
    async def scene(staged: Scene) -> list[Record]:
        staged.start()
        staged.put_all("1", "2")
        staged.call("SplitShard", ShardToSplit=SHARD, NewStartingHashKey=str(2**127))
        await staged.until_active()
        for key in ("a", "b", "c", "d"):
            staged.put(b"after", key)
        await staged.until_seen(6)
        return staged.seen

    seen = play(kind, scene)
    assert [each.text() for each in seen[:2]] == ["1", "2"]
    assert {each.shard_id for each in seen[2:]} == {
        "shardId-000000000001",
        "shardId-000000000002",
    }


def test_a_slow_handler_holds_up_the_reader_and_loses_nothing(kind: Kind) -> None:
    async def slow(record: Record) -> None:
        await asyncio.sleep(0.005)

    async def scene(staged: Scene) -> tuple[list[str], int]:
        staged.put_all(*numbers(200))
        subscription = staged.start(slow, channel_records=4, read_ahead_records=8)
        depth = 0
        while len(staged.seen) < 200:
            await asyncio.sleep(0.02)
            stats = stats_of(subscription)
            depth = max(depth, 0 if stats is None else stats.channel_depth)
        return staged.data, depth

    data, depth = play(kind, scene)
    assert data == numbers(200)
    assert 1 <= depth <= 4


def test_how_far_it_is_behind_is_told(kind: Kind) -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        await hold.wait()

    async def scene(staged: Scene) -> tuple[float, float]:
        staged.put_all("1")
        subscription = staged.start(held)
        await staged.until_seen(1)
        await asyncio.sleep(1.0)
        waiting_ms = subscription.stats().lag_ms
        hold.set()
        await staged.until(lambda: subscription.stats().shards[0].unsettled == 0)
        return waiting_ms, subscription.stats().lag_ms

    waiting_ms, done_ms = play(kind, scene)
    assert waiting_ms >= 1_000
    assert done_ms < waiting_ms


def test_it_ends_with_an_error_when_the_stream_is_deleted(kind: Kind) -> None:
    async def scene(staged: Scene) -> None:
        subscription = staged.start()
        await staged.until_reading(subscription)
        staged.call("DeleteStream", EnforceConsumerDeletion=True)
        with pytest.raises(StreamNotFound, match="orders"):
            await staged.ended(subscription)

    play(kind, scene)


def test_it_stops_at_once_while_nothing_comes(kind: Kind) -> None:
    async def scene(staged: Scene) -> float:
        loop = asyncio.get_running_loop()
        subscription = staged.start()
        await staged.until_reading(subscription)
        began_s = loop.time()
        ending = await staged.stop(subscription)
        assert ending.is_clean
        return loop.time() - began_s

    assert play(kind, scene) < 2


FAULTS = {
    "throttle": Fault(kind=FaultKind.THROTTLE, probability=0.4),
    "internal error": Fault(kind=FaultKind.INTERNAL_ERROR, probability=0.4),
    "lost answer": Fault(kind=FaultKind.LOST_ANSWER, probability=0.4),
    "late answer": Fault(kind=FaultKind.LATENCY, probability=0.4, ms=300),
}
"""Of the call that reads."""


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_happens_to_a_call_everything_comes_once_and_in_order(
    kind: Kind, name: str
) -> None:
    fault = replace(FAULTS[name], operation=kind.reading)
    assert play(kind, _reads_forty, fault) == numbers(40)


async def _reads_forty(staged: Scene) -> list[str]:
    # Events come all the time here: a second without one is as good as silence for ever.
    rules = replace(staged.kind.source.rules, silence_s=1.0)
    staged.start(source=replace(staged.kind.source, rules=rules))
    for first in range(0, 40, 4):
        staged.put_all(*(str(number) for number in range(first, first + 4)))
        await asyncio.sleep(0.05)
    await staged.until_seen(40)
    await asyncio.sleep(0.3)
    return staged.data
