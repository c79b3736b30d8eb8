"""Splits and merges, with consumers there and away; positions, seeks and re-created streams."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from shardlane.consumer.errors import KinesisRefused, StreamNotFound
from shardlane.consumer.position import Position
from shardlane.consumer.source import Source
from shardlane.record import Record
from tests.sim.stage import STREAM, Stage, play

SOURCES = [Source.polling(0.2), Source.fan_out("app")]
EACH_SOURCE = pytest.mark.parametrize("source", SOURCES, ids=["polling", "fan-out"])
FIRST, SECOND, THIRD = (f"shardId-{number:012d}" for number in range(3))
LAST_KEY = 2**128 - 1


def numbers(start: int, end: int) -> list[str]:
    return [str(number) for number in range(start, end)]


@EACH_SOURCE
def test_a_split_and_a_merge_lose_nothing_and_keep_the_order_of_keys(source: Source) -> None:
    async def scene(stage: Stage) -> list[tuple[str, str]]:
        stage.start(source=source)
        for number in range(120):
            if number == 40:
                stage.split()
            if number == 80:
                stage.merge(SECOND, THIRD)
            stage.put(str(number), f"key-{number % 7}")
            await asyncio.sleep(0.1)
        await stage.until(120)
        return [(each.key, each.data) for each in stage.seen]

    seen = play(scene)
    assert sorted((data for _, data in seen), key=int) == numbers(0, 120)
    for key in {key for key, _ in seen}:
        mine = [int(data) for each, data in seen if each == key]
        assert mine == sorted(mine)


@EACH_SOURCE
def test_a_child_is_read_from_its_horizon_although_the_start_was_latest(source: Source) -> None:
    """What is written into it before anyone has discovered it."""

    async def scene(stage: Stage) -> list[str]:
        stage.put("old")
        await asyncio.sleep(1)
        stage.start(source=source, start=Position.latest())
        await asyncio.sleep(8)
        stage.split()
        for number in range(3):
            stage.put(str(number))
        await stage.until(3)
        await asyncio.sleep(3)
        return stage.data

    assert play(scene) == numbers(0, 3)


def test_closed_shards_with_unread_records_are_read_first() -> None:
    """A reshard while no consumer ran."""

    async def scene(stage: Stage) -> list[str]:
        for number in range(3):
            stage.put(str(number))
        stage.split()
        stage.put("3")
        await asyncio.sleep(5)
        stage.start()
        await stage.until(4)
        return stage.data

    assert play(scene) == numbers(0, 4)


def test_a_merged_child_waits_for_the_slower_parent() -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        if record.text() == "slow":
            await hold.wait()

    async def scene(stage: Stage) -> tuple[list[str], list[str]]:
        from shardlane.consumer.worker_plan import by_key, workers

        stage.put("slow", "a", hash_key=0)
        stage.put("quick", "b", hash_key=LAST_KEY)
        stage.start(held, workers(4, by_key))
        await stage.until(2)
        stage.merge(FIRST, SECOND)
        stage.put("child", "c")
        await asyncio.sleep(30)
        before = list(stage.data)
        hold.set()
        await stage.until(3)
        return before, stage.data

    before, after = play(scene, shards=2)
    assert sorted(before) == ["quick", "slow"]
    assert after[-1] == "child"


def test_a_parent_with_a_record_under_way_is_not_finished() -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        await hold.wait()

    async def scene(stage: Stage) -> tuple[str, list[str]]:
        stage.put("1")
        stage.start(held)
        await stage.until(1)
        stage.split()
        stage.put("2")
        await asyncio.sleep(20)
        checkpoint = stage.rows[FIRST].checkpoint.value
        assert stage.data == ["1"]
        hold.set()
        await stage.until(2)
        return checkpoint, stage.data

    assert play(scene) == ("TRIM_HORIZON", ["1", "2"])


def test_a_finished_shard_is_not_read_again_however_often_it_is_listed() -> None:
    async def scene(stage: Stage) -> tuple[int, str]:
        stage.put("1")
        stage.split()
        stage.start()
        await stage.until(1)
        await asyncio.sleep(400)  # six listings or so
        return stage.port.opened(FIRST), stage.rows[FIRST].checkpoint.value

    assert play(scene) == (1, "SHARD_END")


def test_a_parent_that_is_trimmed_does_not_keep_its_child_back() -> None:
    async def scene(stage: Stage) -> list[str]:
        stage.split()
        stage.put("1")

        def without_parent(answer: dict[str, Any]) -> dict[str, Any]:
            shards = [each for each in answer["Shards"] if each["ShardId"] != FIRST]
            return {**answer, "Shards": shards}

        stage.port.listing = without_parent
        stage.start()
        await stage.until(1)
        assert FIRST not in stage.rows
        return stage.data

    assert play(scene) == ["1"]


def test_the_rows_of_trimmed_parents_are_deleted_once_their_children_have_begun() -> None:
    async def scene(stage: Stage) -> set[str]:
        stage.put("1")
        stage.split()
        for hash_key in (0, LAST_KEY):
            stage.put("child", hash_key=hash_key)
        stage.start()
        await stage.until(3)
        await asyncio.sleep(3)
        stage.port.listing = lambda answer: {
            **answer,
            "Shards": [each for each in answer["Shards"] if each["ShardId"] != FIRST],
        }
        await asyncio.sleep(150)
        return set(stage.rows)

    assert play(scene) == {SECOND, THIRD}


def test_more_shards_than_one_page_are_all_read() -> None:
    """The service refuses a token beside a stream; it comes alone."""

    async def scene(stage: Stage) -> int:
        stage.port.page_size = 2
        subscription = stage.start()
        await asyncio.sleep(10)
        return len(subscription.stats().shards)

    assert play(scene, shards=5) == 5


def test_a_listing_whose_token_expires_starts_again() -> None:
    async def scene(stage: Stage) -> int:
        expired = 0

        def expire(operation: str, request: Mapping[str, Any]) -> None:
            nonlocal expired
            if operation == "ListShards" and "NextToken" in request and not expired:
                expired += 1
                raise KinesisRefused("ExpiredNextTokenException", "too late", operation)

        stage.port.page_size = 2
        stage.port.meddle = expire
        subscription = stage.start()
        await asyncio.sleep(10)
        return len(subscription.stats().shards)

    assert play(scene, shards=5) == 5


# --- positions ----------------------------------------------------------------------------------


@EACH_SOURCE
def test_a_restart_before_the_first_record_starts_where_the_first_one_did(source: Source) -> None:
    """Started at LATEST, nothing processed, stopped; two records; started again."""

    async def scene(stage: Stage) -> list[str]:
        stage.put("old")
        await asyncio.sleep(2)
        first = stage.start(source=source, start=Position.latest())
        await asyncio.sleep(8)
        await stage.stop(first)
        stage.put("1")
        stage.put("2")
        await asyncio.sleep(2)
        stage.start(source=source, start=Position.latest())
        await stage.until(2)
        await asyncio.sleep(3)
        return stage.data

    assert play(scene) == ["1", "2"]


@EACH_SOURCE
def test_a_start_at_a_time_leaves_out_what_came_before(source: Source) -> None:
    from shardlane_lab.virtual_time import wall_ms

    async def scene(stage: Stage) -> list[str]:
        stage.put("old")
        await asyncio.sleep(2)
        at_ms = int(wall_ms())
        stage.put("1")
        stage.start(source=source, start=Position.timestamp(at_ms))
        await stage.until(1)
        await asyncio.sleep(3)
        return stage.data

    assert play(scene) == ["1"]


@EACH_SOURCE
def test_a_start_at_a_record_includes_it(source: Source) -> None:
    async def scene(stage: Stage) -> list[str]:
        sequence = [stage.put(str(number)) for number in range(4)]
        await asyncio.sleep(1)
        stage.start(source=source, start=Position.sequence(FIRST, sequence[2]))
        await stage.until(2)
        await asyncio.sleep(2)
        return stage.data

    assert play(scene) == ["2", "3"]


@EACH_SOURCE
def test_a_restart_goes_on_after_the_last_settled_record(source: Source) -> None:
    async def scene(stage: Stage) -> list[str]:
        for number in range(5):
            stage.put(str(number))
        first = stage.start(source=source)
        await stage.until(5)
        await stage.stop(first)
        stage.put("5")
        await asyncio.sleep(5)
        stage.start(source=source, start=Position.latest())
        await stage.until(6)
        await asyncio.sleep(2)
        return stage.data

    assert play(scene) == numbers(0, 6)


@EACH_SOURCE
def test_a_seek_back_delivers_again_and_old_acknowledgements_do_not_count(source: Source) -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        if record.text() == "3":
            await hold.wait()

    async def scene(stage: Stage) -> tuple[list[str], bool]:
        sequence = [stage.put(str(number)) for number in range(4)]
        subscription = stage.start(held, source=source)
        await stage.until(4)
        await asyncio.sleep(2)
        assert await subscription.seek(Position.sequence(FIRST, sequence[1])) == (FIRST,)
        hold.set()  # "3" of the old generation ends now
        await asyncio.sleep(0.5)
        checkpoint = stage.rows[FIRST].checkpoint
        assert (checkpoint.value, checkpoint.sub) == (sequence[1], -1)
        await stage.until(7)
        await asyncio.sleep(3)
        return stage.data, stage.rows[FIRST].checkpoint.value == sequence[3]

    data, settled = play(scene)
    assert data == ["0", "1", "2", "3", "1", "2", "3"]
    assert settled


def test_a_seek_to_latest_skips_what_waits() -> None:
    async def slow(record: Record) -> None:
        await asyncio.sleep(5)

    async def scene(stage: Stage) -> list[str]:
        for number in range(10):
            stage.put(str(number))
        subscription = stage.start(slow)
        await stage.until(1)
        await subscription.seek(Position.latest())
        await asyncio.sleep(2)
        stage.put("new")
        await stage.until(2)
        await asyncio.sleep(10)
        return stage.data

    assert play(scene) == ["0", "new"]


# --- streams ------------------------------------------------------------------------------------


def test_a_stream_that_was_created_again_is_read_from_its_horizon() -> None:
    """Its shard ids are the same; the old numbers mean nothing in it."""

    async def scene(stage: Stage) -> list[str]:
        stage.put("old")
        await asyncio.sleep(1)
        stage.start(start=Position.latest(), source=Source.polling(0.2))
        await asyncio.sleep(5)
        stage.put("1")
        await stage.until(1)
        await asyncio.sleep(3)
        stage.call("DeleteStream", EnforceConsumerDeletion=True)
        stage.call("CreateStream", ShardCount=1)
        await asyncio.sleep(0.5)
        stage.put("2")
        await stage.until(2, within_s=200)
        return stage.data

    assert play(scene) == ["1", "2"]


def test_a_stream_that_is_gone_ends_the_run_with_an_error() -> None:
    async def scene(stage: Stage) -> None:
        subscription = stage.start()
        await asyncio.sleep(5)
        stage.call("DeleteStream")
        async with asyncio.timeout(120):
            await stage.ended(subscription)

    with pytest.raises(StreamNotFound, match=STREAM):
        play(scene)


def test_a_stream_that_is_not_there_is_an_error_that_names_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.call("DeleteStream")
        subscription = stage.start()
        async with asyncio.timeout(60):
            await stage.ended(subscription)

    with pytest.raises(StreamNotFound, match=STREAM):
        play(scene)
