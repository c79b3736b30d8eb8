"""Leases: shared evenly, handed over without a duplicate, taken over in time, kept in storms."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.errors import ConsumerEvicted
from shardlane.consumer.held_record import HeldRecord
from shardlane.consumer.held_shard import HeldShard
from shardlane.consumer.lease_store import Answer, LeaseTable, StreamIdentity, Unknown
from shardlane.consumer.memory_lease_store import MemoryLeaseStore
from shardlane.consumer.source import Source
from shardlane.consumer.subscription import Subscription
from shardlane.consumer.tenure import Standing, Tenure
from shardlane.record import Record
from tests.sim.network import Link, Sky, Weather
from tests.sim.stage import Stage, play

SHARD = "shardId-000000000000"
POLLING, FAN_OUT = Source.polling(0.2), Source.fan_out("app")


def held(*subscriptions: Subscription) -> list[int]:
    return [len(each.stats().shards) for each in subscriptions]


async def producing(stage: Stage, seconds: float, keys: int = 8) -> None:
    """Twenty records a second, each with its number."""
    for number in range(int(seconds * 20)):
        stage.put(str(number), f"key-{number % keys}")
        await asyncio.sleep(0.05)


def test_three_instances_share_four_shards_evenly() -> None:
    async def scene(stage: Stage) -> list[int]:
        instances = []
        for _ in range(3):
            instances.append(stage.start())
            await asyncio.sleep(15)
        await asyncio.sleep(10)
        return held(*instances)

    assert sorted(play(scene, shards=4)) == [1, 1, 2]


@pytest.mark.parametrize(
    ("source", "within_s"), [(POLLING, 2.0), (FAN_OUT, 7.0)], ids=["polling", "fan-out"]
)
def test_a_planned_hand_over_repeats_nothing_and_is_quick(source: Source, within_s: float) -> None:
    """From the release of a lease to the first delivery of its new owner."""

    async def scene(stage: Stage) -> tuple[list[str], float]:
        first = stage.start(source=source)
        feeding = asyncio.create_task(producing(stage, 40))
        await asyncio.sleep(10)
        second = stage.start(source=source)
        await feeding
        await asyncio.sleep(10)
        assert held(first, second) == [1, 1]
        moved = second.stats().shards[0].shard_id
        by_second = [each for each in stage.seen if each.by == "i2" and each.shard_id == moved]
        by_first = [each for each in stage.seen if each.by == "i1" and each.shard_id == moved]
        return stage.data, by_second[0].at_s - by_first[-1].at_s

    data, gap_s = play(scene, shards=2)
    assert sorted(data, key=int) == [str(number) for number in range(800)]
    assert gap_s <= within_s


def test_the_work_of_a_killed_instance_goes_on_within_15_seconds() -> None:
    async def scene(stage: Stage) -> tuple[float, int]:
        first, second = stage.start(), stage.start()
        feeding = asyncio.create_task(producing(stage, 60))
        await asyncio.sleep(20)
        assert held(first, second) == [1, 1]
        lost = first.stats().shards[0].shard_id
        await stage.kill(first)
        killed_s = asyncio.get_running_loop().time()
        await feeding
        await asyncio.sleep(5)
        gap_s = next(
            each.at_s - killed_s for each in stage.seen if each.by == "i2" and each.shard_id == lost
        )
        return gap_s, len(set(stage.data))

    gap_s, distinct = play(scene, shards=2)
    assert gap_s <= 15
    assert distinct == 1200


def test_a_stop_frees_its_leases_at_once() -> None:
    async def scene(stage: Stage) -> float:
        first = stage.start()
        await asyncio.sleep(5)
        await stage.stop(first)
        stopped_s = asyncio.get_running_loop().time()
        stage.put("1")
        stage.start()
        await stage.until(1)
        return stage.seen[0].at_s - stopped_s

    assert play(scene) < 1


# --- bad weather --------------------------------------------------------------------------------


class WeatheredStore(MemoryLeaseStore):
    """Answers of WRITE get lost now and then."""

    is_shared = True

    def __init__(self, lost: float) -> None:
        super().__init__()
        self._lost = lost

    async def open(self, stream: StreamIdentity) -> Any:
        return WeatheredTable(await super().open(stream), self._lost)


class WeatheredTable:
    def __init__(self, table: LeaseTable, lost: float) -> None:
        self._table = table
        sky = Sky()
        sky.weather = Weather(lost_answer=lost)
        self._link = Link(sky, Random("weather"))

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._table, verb)

    async def write(self, *given: Any) -> Answer:
        answer = await self._table.write(*given)
        if self._link.happens(self._link.weather.lost_answer):
            await asyncio.sleep(1.0)
            return Unknown("the answer got lost")
        return answer


def lost_in_bad_weather() -> int:
    async def scene(stage: Stage) -> int:
        alone = stage.start(store=WeatheredStore(lost=0.3))
        await producing(stage, 120)
        return alone.stats().counters.leases_lost

    return play(scene)


def test_lost_answers_cost_no_lease() -> None:
    assert lost_in_bad_weather() == 0


def test_without_adopting_ones_own_writes_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Tenure._refused

    def never_adopts(self: Tenure, answer: Any) -> Standing:
        standing = refused(self, answer)
        return Standing.LOST if standing is Standing.ADOPTED else standing

    monkeypatch.setattr(Tenure, "_refused", never_adopts)
    assert lost_in_bad_weather() > 0


def lost_behind_a_full_channel() -> int:
    """A handler that blocks for longer than a lease lives."""

    async def slow(record: Record) -> None:
        await asyncio.sleep(25)

    async def scene(stage: Stage) -> int:
        for number in range(20):
            stage.put(str(number))
        bounds = Bounds(channel_records=2, read_ahead_records=1)
        alone = stage.start(slow, bounds=bounds)
        await asyncio.sleep(100)
        return alone.stats().counters.leases_lost

    return play(scene)


def test_a_blocked_handler_and_a_full_channel_cost_no_lease() -> None:
    assert lost_behind_a_full_channel() == 0


def test_if_renewal_waited_for_the_channel_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    renewal: Callable[..., Any] = HeldShard._renewal

    def behind_the_channel(self: HeldShard, now_s: float) -> Any:
        if not self._around.desk.has_room(self._reading):
            return None
        return renewal(self, now_s)

    def wake_s(self: HeldShard) -> float:
        return self._now_s() + 0.5

    monkeypatch.setattr(HeldShard, "_renewal", behind_the_channel)
    monkeypatch.setattr(HeldShard, "_wake_s", wake_s)
    assert lost_behind_a_full_channel() > 0


def test_no_process_reads_a_shard_twice() -> None:
    """Not even one whose own lease expires under it."""

    async def slow(record: Record) -> None:
        await asyncio.sleep(30)

    async def scene(stage: Stage) -> int:
        for number in range(100):
            stage.put(str(number), f"key-{number}")
        stage.start(slow)
        await asyncio.sleep(5)
        most = 0
        for _ in range(100):
            before = stage.port.calls["GetRecords"]
            await asyncio.sleep(1)
            most = max(most, stage.port.calls["GetRecords"] - before)
        return most

    assert play(scene, shards=2) <= 10


def test_a_row_that_someone_deleted_is_made_anew_at_the_horizon() -> None:
    async def scene(stage: Stage) -> list[str]:
        stage.put("1")
        alone = stage.start()
        await stage.until(1)
        await asyncio.sleep(3)
        table = stage.table
        del table.rows[SHARD]
        await stage.until(2, within_s=120)
        assert alone.stats().counters.leases_lost == 1
        return stage.data

    assert play(scene) == ["1", "1"]


def test_two_processes_with_leases_of_their_own_on_one_consumer_are_told() -> None:
    """They would end each other's subscriptions for ever."""

    async def scene(stage: Stage) -> None:
        first = stage.start(store=MemoryLeaseStore(), source=FAN_OUT)
        second = stage.start(store=MemoryLeaseStore(), source=FAN_OUT)
        ends = [asyncio.create_task(stage.ended(each)) for each in (first, second)]
        done, _ = await asyncio.wait(ends, timeout=120, return_when=asyncio.FIRST_COMPLETED)
        next(iter(done)).result()

    with pytest.raises(ConsumerEvicted, match="consumer name of its own"):
        play(scene)


def test_twenty_instances_that_start_together_do_not_storm_the_service() -> None:
    async def scene(stage: Stage) -> Counter[str]:
        instances = [stage.start() for _ in range(20)]
        await asyncio.sleep(30)
        assert sum(held(*instances)) == 4
        return stage.port.calls

    calls = play(scene, shards=4)
    assert calls["DescribeStream"] == 0
    assert calls["DescribeStreamSummary"] <= 100
    assert calls["ListShards"] <= 40


def test_the_fence_grows_with_every_owner() -> None:
    fences: list[int] = []

    async def note(record: Record) -> None:
        assert isinstance(record, HeldRecord)
        fences.append(record.fence)

    async def scene(stage: Stage) -> None:
        for number in range(3):
            stage.put(str(number))
            instance = stage.start(note)
            await stage.until(number + 1)
            await stage.stop(instance)

    play(scene)
    assert len(fences) == 3
    assert fences == sorted(set(fences))


def test_a_handler_is_told_and_cancelled_when_its_lease_is_lost() -> None:
    told: list[Any] = []

    async def long(record: Record) -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            assert isinstance(record, HeldRecord)
            told.append(record.lease_lost)
            raise

    async def scene(stage: Stage) -> tuple[int, int]:
        stage.put("1")
        owner = stage.start(long)
        await stage.until(1)
        table = stage.table
        table.rows[SHARD] = replace(table.rows[SHARD], owner="kcl-worker", counter=99)
        await asyncio.sleep(5)
        stats = owner.stats()
        return stats.counters.leases_lost, len(stats.shards)

    assert play(scene) == (1, 0)
    assert told == [True]
