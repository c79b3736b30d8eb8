"""Scenes of a lease that is asked for before its new owner has taken it: nobody reads the shard
then, and so nobody would drain and release it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from shardlane.consumer import lease_plan
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Answer, Done, StreamIdentity, Unknown
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.consumer.terms import Terms
from shardlane.record import Record
from tests.sim.stage import SharedMemoryStore, SharedTable, Stage, play

SHARD = "shardId-000000000000"
FIRST, SECOND = "shardlane/i1", "shardlane/i2"


async def asked_too_early(stage: Stage) -> float:
    """A lease was granted to the first worker and asked for by the second before it was taken.
    Returns how long it takes until the shard is read."""
    stage.put("1")
    starter = stage.start()
    await stage.until(1)
    await stage.stop(starter)
    row = stage.rows[SHARD]
    stage.table.rows[SHARD] = replace(row, owner=SECOND, checkpoint_owner="shardlane/i3")
    stage.seen.clear()
    began_s = asyncio.get_running_loop().time()
    stage.start()  # i2
    stage.start()  # i3
    stage.put("2")
    await stage.until(1)
    assert stage.data == ["2"]
    return asyncio.get_running_loop().time() - began_s


def test_who_has_not_taken_it_yet_releases_it_and_the_asker_reads_on() -> None:
    assert play(asked_too_early) < 5


def test_otherwise_it_would_have_to_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    make = lease_plan.Plan

    def without_releases(take: object, ask: object, release: object) -> lease_plan.Plan:
        return make(take, ask, ())  # type: ignore[arg-type]

    monkeypatch.setattr(lease_plan, "Plan", without_releases)
    assert play(asked_too_early) > 9


class _LosesTakes(SharedTable):
    """A TAKE happens, and its answer is lost; a moment later another asks for the lease."""

    lost = 0

    async def take(self, seen: Lease, me: str, start_ms: int | None) -> Answer:
        answer = await super().take(seen, me, start_ms)
        if isinstance(answer, Done) and not self.lost:
            self.lost += 1
            asked = await self.hand_off(seen.shard_id, me, SECOND)
            assert isinstance(asked, Done)
            return Unknown("no answer")
        return answer


class _StoreOf(SharedMemoryStore):
    def __init__(self, table: SharedTable) -> None:
        super().__init__()
        self._table = table

    async def open(self, stream: StreamIdentity) -> MemoryLeaseTable:
        self._tables.setdefault(stream.arn, self._table)
        return await super().open(stream)


def test_a_take_without_an_answer_is_released_and_not_read_twice() -> None:
    """The first worker took the shard and does not know it: it must not read it, for the second
    one will."""

    async def scene(stage: Stage) -> None:
        stage.store = _StoreOf(_LosesTakes())
        for number in range(20):
            stage.put(str(number))
        stage.start()
        await asyncio.sleep(0.5)
        stage.start()
        await stage.until(20)
        await asyncio.sleep(5)
        assert stage.data == [str(number) for number in range(20)]
        assert {each.by for each in stage.seen} == {"i2"}

    play(scene)


def test_a_hand_over_waits_thirty_seconds_for_a_handler_and_no_longer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Then the lease goes at the mark, and what still runs is handled again: so said in the log."""

    async def hang(record: Record) -> None:
        if record.text() == "slow":
            await asyncio.sleep(1_000)

    async def scene(stage: Stage) -> float:
        first = stage.put("1")
        stage.put("slow")
        stage.start(hang)
        await stage.until(2)
        await asyncio.sleep(5)
        row = stage.rows[SHARD]
        asked = await stage.table.hand_off(SHARD, FIRST, SECOND)
        assert isinstance(asked, Done)
        stage.start()
        asked_s = asyncio.get_running_loop().time()
        await stage.until(3)
        assert stage.seen[2].data == "slow"
        assert stage.rows[SHARD].owner == SECOND
        assert row.checkpoint.value == stage.rows[SHARD].checkpoint.value == first
        return stage.seen[2].at_s - asked_s

    caplog.set_level(logging.WARNING, "shardlane.consumer")
    assert 30 <= play(scene) < 40
    assert "given up while 1 records are still being handled" in caplog.text


class _CountsScans(SharedTable):
    scans = 0

    async def scan(self) -> list[Lease]:
        self.scans += 1
        return await super().scan()


@pytest.mark.parametrize(("many_leases", "scans"), [(4, 60), (3, 30)], ids=["few", "many"])
def test_a_large_table_is_scanned_half_as_often(many_leases: int, scans: int) -> None:
    async def scene(stage: Stage) -> int:
        table = _CountsScans()
        stage.store = _StoreOf(table)
        stage.start(terms=Terms(many_leases=many_leases))
        await asyncio.sleep(10)
        before = table.scans
        await asyncio.sleep(60)
        return table.scans - before

    assert play(scene, shards=4) == pytest.approx(scans, rel=0.1)
