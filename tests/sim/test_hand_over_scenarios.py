"""Scenes of a lease that is asked for before its new owner has taken it: nobody reads the shard
then, and so nobody would drain and release it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from shardlane.consumer import lease_plan
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Answer, Done, Unknown
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
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


class _LosingStore(SharedMemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.losing = _LosesTakes()

    async def open(self, stream: object) -> MemoryLeaseTable:
        self._tables.setdefault(stream.arn, self.losing)  # type: ignore[attr-defined]
        return await super().open(stream)  # type: ignore[arg-type]


def test_a_take_without_an_answer_is_released_and_not_read_twice() -> None:
    """The first worker took the shard and does not know it: it must not read it, for the second
    one will."""

    async def scene(stage: Stage) -> None:
        stage.store = _LosingStore()
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
