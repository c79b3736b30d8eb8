"""Scenes of what has to be written before what: children before the end of their parent, and the
lease before a subscription, which evicts whoever has one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from shardlane.consumer import fan_out_reader
from shardlane.consumer.lease import Change
from shardlane.consumer.lease_store import Answer, Unknown
from shardlane.consumer.source import Source
from shardlane_lab.virtual_time import wall_ms
from tests.sim.stage import Stage, play

PARENT = "shardId-000000000000"


def test_children_have_leases_before_their_parent_has_ended() -> None:
    """In the other order a crash in between would leave children that nobody knows as such."""

    async def scene(stage: Stage) -> list[set[str]]:
        stage.start()
        stage.put("1")
        await stage.until(1)
        write = stage.table.write
        at_the_end: list[set[str]] = []

        async def watched(shard_id: str, counter: int, me: str, change: Change) -> Answer:
            if change.checkpoint is not None and change.checkpoint.is_end:
                at_the_end.append(set(stage.rows))
                assert change.children <= set(stage.rows)
            return await write(shard_id, counter, me, change)

        stage.table.write = watched  # type: ignore[method-assign]
        stage.split()
        await asyncio.sleep(10)
        assert stage.rows[PARENT].is_ended
        return at_the_end

    (rows,) = play(scene)
    assert rows == {PARENT, "shardId-000000000001", "shardId-000000000002"}


async def _subscribes_without_the_table(stage: Stage) -> list[float]:
    """The table stops answering, and then the subscription breaks. Returns when it subscribed
    after that, in seconds since the last good write."""
    stage.start(source=Source.fan_out("app"))
    stage.put("1")
    await stage.until(1)
    await asyncio.sleep(1)
    loop = asyncio.get_running_loop()
    write, cut_s = stage.table.write, loop.time()

    async def unanswered(shard_id: str, counter: int, me: str, change: Change) -> Answer:
        if loop.time() < cut_s + 8:
            return Unknown("no answer")
        return await write(shard_id, counter, me, change)

    stage.table.write = unanswered  # type: ignore[method-assign]
    subscribed: list[float] = []

    def note(operation: str, request: Mapping[str, Any]) -> None:
        if operation == "SubscribeToShard":
            subscribed.append(loop.time() - cut_s)

    stage.port.meddle = note
    await asyncio.sleep(5)  # older than a third of the time to live
    arn = stage.call("DescribeStreamSummary")["StreamDescriptionSummary"]["StreamARN"]
    named = {"StreamARN": arn, "ConsumerName": "app"}
    described = stage.model.call("DescribeStreamConsumer", named, wall_ms())["ConsumerDescription"]
    intruder = await stage.port.subscribe(
        {
            "ConsumerARN": described["ConsumerARN"],
            "ShardId": PARENT,
            "StartingPosition": {"Type": "LATEST"},
        }
    )
    await intruder.close()
    subscribed.clear()
    await asyncio.sleep(10)
    return subscribed


def test_it_subscribes_only_while_its_lease_is_fresh() -> None:
    """Whoever took the lease meanwhile keeps the subscription."""
    subscribed = play(_subscribes_without_the_table)
    assert subscribed
    assert min(subscribed) >= 8


def test_without_asking_for_a_write_it_would_evict_the_next_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def turn(self: fan_out_reader.FanOutReader) -> None:
        wait_s = self._floor.due_s - asyncio.get_running_loop().time()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    async def ended(self: fan_out_reader.FanOutReader, lived_s: float) -> None:
        """It asks nobody."""

    monkeypatch.setattr(fan_out_reader.FanOutReader, "_turn", turn)
    monkeypatch.setattr(fan_out_reader.FanOutReader, "_ended", ended)
    assert min(play(_subscribes_without_the_table)) < 8
