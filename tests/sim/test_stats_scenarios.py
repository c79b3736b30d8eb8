"""Scenes of what a subscription says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from shardlane import Record
from shardlane.consumer import Stats, StatsInMemory
from shardlane.consumer.errors import KinesisUnreachable
from tests.sim.stage import Stage, play

Handler = Callable[[Record], Awaitable[None]]


def test_lag_grows_when_reading_fails_from_the_very_beginning() -> None:
    def fail(operation: str, request: Mapping[str, Any]) -> None:
        if operation in ("GetShardIterator", "GetRecords"):
            raise KinesisUnreachable("no answer")

    async def scene(stage: Stage) -> float:
        stage.port.meddle = fail
        subscription = stage.start()
        await asyncio.sleep(40)
        return subscription.stats().lag_ms

    assert play(scene) == pytest.approx(40_000, abs=2_500)


def test_records_in_the_channel_tell_slow_handlers_from_failing_reads() -> None:
    """As the runbook of ``late`` has it: ``MillisBehindLatest`` does not."""
    failing = False

    def fail(operation: str, request: Mapping[str, Any]) -> None:
        if failing and operation in ("GetShardIterator", "GetRecords"):
            raise KinesisUnreachable("no answer")

    async def slow(record: Record) -> None:
        await asyncio.sleep(2)

    async def scene(stage: Stage, handler: Handler | None) -> Stats:
        nonlocal failing
        stage.port.meddle = fail
        stage.port.most_records = 100
        subscription = stage.start(handler)
        await asyncio.sleep(5)
        failing = handler is None
        for second in range(120):
            for number in range(60):
                stage.put(str(second), key=str(number))
            await asyncio.sleep(1)
        return subscription.stats()

    unread = play(lambda stage: scene(stage, None))
    failing = False
    unhandled = play(lambda stage: scene(stage, slow))
    assert min(unread.lag_ms, unhandled.lag_ms) > 100_000
    assert (unread.channel_depth, unread.shards[0].behind_ms) == (0, 0)
    assert unhandled.channel_depth > 20
    assert unhandled.shards[0].behind_ms > 30_000


def test_a_checkpoint_ages_while_a_record_is_under_way() -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        await hold.wait()

    async def scene(stage: Stage) -> list[float]:
        ages = []
        subscription = stage.start(held)
        await asyncio.sleep(5)
        for _ in range(2):
            ages.append(subscription.stats().shards[0].checkpoint_age_ms)
            stage.put("1")
            await asyncio.sleep(10)
        hold.set()
        await asyncio.sleep(3)
        return [*ages, subscription.stats().shards[0].checkpoint_age_ms]

    idle, waiting, done = play(scene)
    assert idle == done == 0
    assert waiting == pytest.approx(15_000, abs=1_500)


def test_reports_come_every_minute_and_at_the_end() -> None:
    async def scene(stage: Stage) -> list[tuple[float, Stats]]:
        sink = StatsInMemory()
        subscription = stage.start(report_to=sink)
        for number in range(13):
            stage.put(str(number))
            await asyncio.sleep(10)
        await stage.stop(subscription)
        return list(sink.taken)

    reports = play(scene)
    assert [stats.counters.handled for _, stats in reports] == [6, 12, 13]
    assert [len(stats.shards) for _, stats in reports] == [1, 1, 0]
    first_ms, second_ms = reports[0][0], reports[1][0]
    assert second_ms - first_ms == pytest.approx(60_000, abs=1)


def test_a_sink_that_fails_does_not_stop_the_consumer() -> None:
    class Broken:
        def take(self, stats: Stats, now_ms: float) -> None:
            raise OSError("stdout is closed")

    async def scene(stage: Stage) -> list[str]:
        stage.start(report_to=Broken())
        await asyncio.sleep(130)
        stage.put("1")
        await stage.until(1)
        return stage.data

    assert play(scene) == ["1"]
