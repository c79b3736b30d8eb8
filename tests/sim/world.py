"""A history, played: the stream, the table, the machines, the checker, on one virtual clock."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Any

from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.consumer.position import Position
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import EPOCH_MS, wall_ms
from tests.sim.aggregates import aggregated
from tests.sim.faulty_lot import Lot
from tests.sim.fleet import STREAM, Services, SimulatedMachine
from tests.sim.history import MACHINES, Event, History
from tests.sim.ledger import Ledger, Put
from tests.sim.network import CALM, STORMS, Sky
from tests.sim.seeded_loop import SeededLoop, run_seeded

PROGRESS_WITHIN_S = 120.0
"""Of virtual time: once nothing breaks any more, a record is settled at least this often (a single
one may take 14 s, and be interrupted a few times)."""
STOPPED_WITHIN_S = 60.0
CREATED_MS = int(EPOCH_MS)


@dataclass(frozen=True, slots=True)
class Result:
    """How a history ended. ``breach`` is None if the contract was kept."""

    breach: str | None
    trace: tuple[str, ...]
    delivered: int
    duplicates: int
    parkings: int
    leases_lost: int
    handed_over: int
    lasted_s: float


def play(history: History) -> Result:
    return run_seeded(World(history).run(), history.seed)


class World:
    def __init__(self, history: History) -> None:
        self._history = history
        self._setting = history.setting
        self._random = Random(f"{history.seed}/world")
        self._numbers = 0
        self._sky = Sky()
        self._storms = 0

    async def run(self) -> Result:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SeededLoop)
        self._loop = loop
        self._broken = asyncio.Event()
        self._ledger = Ledger(loop.time, keeps_order=self._setting.plan != "pool")
        self._ledger.on_breach = self._broken.set
        self._model = Kinesis(limits=Limits(creating_streams=None), seed=self._history.seed)
        self._create_stream()
        table = MemoryLeaseTable()
        table.stream_created_ms = CREATED_MS
        self._lot = Lot(table, self._ledger)
        services = Services(
            self._model, table, self._ledger, self._sky, loop, self._start_position(), self._lot
        )
        self._machines = {
            name: SimulatedMachine(name, self._history.seed, self._setting, services)
            for name in MACHINES
        }
        redriving = asyncio.create_task(self._redrive())
        story = asyncio.create_task(self._story())
        broken = asyncio.create_task(self._broken.wait())
        await asyncio.wait([story, broken], return_when=asyncio.FIRST_COMPLETED)
        if story.done():
            story.result()
        await self._end(story, broken, redriving)
        return self._result()

    # --- the story --------------------------------------------------------------------------

    async def _story(self) -> None:
        producing = asyncio.create_task(self._produce())
        for event in self._history.events:
            await self._until(event.at_s)
            self._happen(event)
        await self._until(self._history.active_s)
        await producing
        await self._heal()
        await self._stop_all()

    async def _redrive(self) -> None:
        random = Random(f"{self._history.seed}/redrive")
        while True:
            await asyncio.sleep(random.uniform(1.0, 10.0))
            self._lot.redrive_all(random)

    async def _until(self, at_s: float) -> None:
        await asyncio.sleep(max(0.0, at_s - self._loop.time()))

    def _happen(self, event: Event) -> None:
        self._ledger.noted(f"*** {event}")
        machine = self._machines.get(event.machine)
        if event.kind == "storm":
            self._storm(event)
        elif event.kind == "burst":
            for _ in range(event.number):
                self._put()
        elif event.kind in ("split", "merge"):
            self._reshard(event)
        elif machine is not None:
            if event.kind in ("freeze", "cut"):
                getattr(machine, event.kind)(event.for_s)
            else:
                getattr(machine, event.kind)()

    def _storm(self, event: Event) -> None:
        self._storms += 1
        number = self._storms
        self._sky.weather = STORMS[event.number]

        def calm() -> None:
            if self._storms == number:
                self._sky.weather = CALM

        self._loop.call_later(event.for_s, calm)

    async def _heal(self) -> None:
        """Nothing breaks any more; somebody is there to do the work."""
        self._sky.weather = CALM
        left, deadline_s = -1, 0.0
        while self._ledger.undelivered():
            if not any(machine.is_running for machine in self._machines.values()):
                self._machines[MACHINES[0]].start()
            lost = self._ledger.undelivered()
            if len(lost) != left:
                left, deadline_s = len(lost), self._loop.time() + PROGRESS_WITHIN_S
            if self._loop.time() > deadline_s:
                self._ledger.fail(f"{len(lost)} records were never handled: {lost[:3]}")
                return
            await asyncio.sleep(1.0)

    async def _stop_all(self) -> None:
        """A stop ends in time, and leaves no lease behind."""
        for machine in self._machines.values():
            machine.stop()
        try:
            async with asyncio.timeout(STOPPED_WITHIN_S):
                await asyncio.gather(*(machine.ended() for machine in self._machines.values()))
        except TimeoutError:
            self._ledger.fail(f"a stop took more than {STOPPED_WITHIN_S:g} s")

    async def _end(self, *tasks: asyncio.Task[Any]) -> None:
        self._ledger.close()
        for task in tasks:
            task.cancel()
        for machine in self._machines.values():
            machine.bury()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _result(self) -> Result:
        endings = [ending for each in self._machines.values() for ending in each.endings]
        return Result(
            breach=self._ledger.breach,
            trace=tuple(self._ledger.trace),
            delivered=len(self._ledger.puts) - len(self._ledger.undelivered()),
            duplicates=self._ledger.duplicates,
            parkings=self._ledger.parkings,
            leases_lost=sum(each.counters.leases_lost for each in endings),
            handed_over=sum(each.counters.leases_handed_over for each in endings),
            lasted_s=self._loop.time(),
        )

    # --- the stream -------------------------------------------------------------------------

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self._model.call(operation, {"StreamName": STREAM, **request}, wall_ms())

    def _create_stream(self) -> None:
        self._call("CreateStream", ShardCount=self._setting.shards)

    def _start_position(self) -> Position:
        if self._setting.start == "timestamp":
            return Position.timestamp(int(EPOCH_MS) + 2_000)
        return Position.latest() if self._setting.start == "latest" else Position.horizon()

    async def _produce(self) -> None:
        pause_s = (self._history.active_s - 3.0) / self._setting.records
        for _ in range(self._setting.records):
            await asyncio.sleep(self._random.uniform(0.2, 1.8) * pause_s)
            self._put()

    def _put(self) -> None:
        key = f"key-{self._random.randrange(self._setting.keys)}"
        inner = 3 if self._random.random() < self._setting.aggregated else 1
        numbers = range(self._numbers, self._numbers + inner)
        data = str(numbers[0]).encode()
        if inner > 1:
            data = aggregated([(key, str(number).encode()) for number in numbers])
        try:
            answer = self._call("PutRecord", PartitionKey=key, Data=data)
        except ServiceError:
            return  # a write limit: a producer's matter
        self._numbers += inner
        for sub, number in enumerate(numbers):
            place = (answer["ShardId"], int(answer["SequenceNumber"]), sub)
            self._ledger.put(Put(number, key, *place, int(wall_ms())))

    def _reshard(self, event: Event) -> None:
        shards = self._call("ListShards")["Shards"]
        open_shards = sorted(
            (s for s in shards if "EndingSequenceNumber" not in s["SequenceNumberRange"]),
            key=lambda s: int(s["HashKeyRange"]["StartingHashKey"]),
        )
        chosen = event.number % len(open_shards)
        shard = open_shards[chosen]
        try:
            if event.kind == "split":
                first = int(shard["HashKeyRange"]["StartingHashKey"])
                last = int(shard["HashKeyRange"]["EndingHashKey"])
                middle = str((first + last) // 2)
                self._call("SplitShard", ShardToSplit=shard["ShardId"], NewStartingHashKey=middle)
            elif len(open_shards) > 1:
                other = open_shards[chosen - 1 if chosen else 1]
                self._call(
                    "MergeShards",
                    ShardToMerge=shard["ShardId"],
                    AdjacentShardToMerge=other["ShardId"],
                )
        except ServiceError as error:
            self._ledger.noted(f"cannot {event.kind}: {error}")
