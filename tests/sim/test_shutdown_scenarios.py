"""A stop ends in time in every state, finishes what has started, and leaves the leases free."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.ending import Ending, Undrained
from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane.consumer.kinesis_port import EventSource
from shardlane.consumer.source import Source
from shardlane.consumer.worker_plan import by_key, workers
from shardlane.policy import FailurePolicy
from shardlane.record import Record
from tests.sim.stage import Stage, play

SHARD = "shardId-000000000000"


async def timed_stop(stage: Stage, subscription: Any) -> tuple[float, Ending]:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    ending = await stage.stop(subscription)
    return loop.time() - began_s, ending


class Silent:
    """A subscription on which nothing ever comes."""

    def __init__(self, inner: EventSource) -> None:
        self._inner = inner

    async def next_event(self) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("source", [Source.polling(5.0), Source.fan_out("app")])
def test_idle(source: Source) -> None:
    async def scene(stage: Stage) -> tuple[float, bool, str | None]:
        subscription = stage.start(source=source)
        await asyncio.sleep(8.5)
        took_s, ending = await timed_stop(stage, subscription)
        return took_s, ending.is_clean, stage.rows[SHARD].owner

    took_s, clean, owner = play(scene)
    assert took_s < 0.5
    assert clean
    assert owner is None


def test_in_a_silent_subscription() -> None:
    async def scene(stage: Stage) -> float:
        stage.port.events = Silent
        subscription = stage.start(source=Source.fan_out("app"))
        await asyncio.sleep(10)
        return (await timed_stop(stage, subscription))[0]

    assert play(scene) < 0.5


def test_in_a_handler_of_ten_seconds() -> None:
    async def long(record: Record) -> None:
        await asyncio.sleep(10)

    async def scene(stage: Stage) -> tuple[float, Ending, str]:
        sequence = [stage.put(str(number)) for number in range(3)]
        subscription = stage.start(long)
        await stage.until(1)
        took_s, ending = await timed_stop(stage, subscription)
        assert stage.rows[SHARD].checkpoint.value == sequence[0]
        return took_s, ending, "".join(stage.data)

    took_s, ending, seen = play(scene)
    assert 9 < took_s < 11
    assert ending.is_clean
    assert ending.counters.handled == 1
    assert seen == "0"


def test_in_a_handler_that_does_not_end() -> None:
    """After 30 seconds the lease is given up at the mark, and the exit says so."""

    async def endless(record: Record) -> None:
        await asyncio.sleep(1_000)

    async def scene(stage: Stage) -> tuple[float, Ending, str | None]:
        stage.put("1")
        subscription = stage.start(endless)
        await stage.until(1)
        took_s, ending = await timed_stop(stage, subscription)
        return took_s, ending, stage.rows[SHARD].owner

    took_s, ending, owner = play(scene)
    assert took_s == pytest.approx(30, abs=0.5)
    assert ending.undrained == (Undrained(SHARD, 1),)
    assert owner is None


def test_with_a_full_channel() -> None:
    async def slow(record: Record) -> None:
        await asyncio.sleep(2)

    async def scene(stage: Stage) -> tuple[float, int]:
        for number in range(500):
            stage.put(str(number), f"key-{number}")
        bounds = Bounds(channel_records=4, read_ahead_records=1)
        subscription = stage.start(slow, workers(2, by_key), bounds=bounds)
        await stage.until(6)
        took_s, _ = await timed_stop(stage, subscription)
        seen = len(stage.seen)
        stage.start(None, workers(2, by_key))
        await stage.until(seen + 500 - seen)
        return took_s, len(stage.data) - len(set(stage.data))

    took_s, duplicates = play(scene)
    assert took_s < 5
    assert duplicates == 0


def test_while_a_key_backs_off() -> None:
    async def failing(record: Record) -> None:
        raise RuntimeError("always")

    async def scene(stage: Stage) -> tuple[float, str]:
        stage.put("1")
        subscription = stage.start(failing, on_failure=FailurePolicy.stop())
        await asyncio.sleep(60)
        took_s, _ = await timed_stop(stage, subscription)
        return took_s, stage.rows[SHARD].checkpoint.value

    took_s, checkpoint = play(scene)
    assert took_s < 1
    assert checkpoint == "TRIM_HORIZON"


@pytest.mark.parametrize("operation", ["DescribeStreamSummary", "GetShardIterator", "ListShards"])
def test_while_the_service_does_not_answer(operation: str) -> None:
    async def scene(stage: Stage) -> float:
        def fail(called: str, request: Mapping[str, Any]) -> None:
            if called == operation:
                raise KinesisUnreachable("no answer")

        stage.port.meddle = fail
        subscription = stage.start()
        await asyncio.sleep(20)
        return (await timed_stop(stage, subscription))[0]

    assert play(scene) < 0.5


def test_while_others_hold_every_lease() -> None:
    async def scene(stage: Stage) -> float:
        stage.start()
        await asyncio.sleep(5)
        waiting = stage.start()
        await asyncio.sleep(5)
        assert waiting.stats().shards == ()
        return (await timed_stop(stage, waiting))[0]

    assert play(scene) < 2


def test_before_it_has_begun_and_twice() -> None:
    async def scene(stage: Stage) -> Ending:
        subscription = stage.start()
        await asyncio.sleep(0)
        subscription.stop()
        subscription.stop()
        return await stage.stop(subscription)

    assert play(scene).is_clean


def test_what_no_waiting_cures_ends_the_run_and_releases_what_is_held() -> None:
    async def scene(stage: Stage) -> str | None:
        def deny(operation: str, request: Mapping[str, Any]) -> None:
            if operation == "GetRecords":
                raise KinesisRefused("AccessDeniedException", "not you", operation)

        subscription = stage.start()
        await asyncio.sleep(5)
        stage.port.meddle = deny
        with pytest.raises(KinesisRefused, match="not you"):
            await stage.ended(subscription)
        return stage.rows["shardId-000000000001"].owner

    assert play(scene, shards=2) is None


def test_an_ending_says_what_was_done() -> None:
    async def scene(stage: Stage) -> Ending:
        for number in range(5):
            stage.put(str(number))
        subscription = stage.start()
        await stage.until(5)
        return await stage.stop(subscription)

    counters = play(scene).counters
    assert (counters.handled, counters.records_read, counters.leases_taken) == (5, 5, 1)
    assert counters.checkpoints >= 1
