from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from shardlane import Drop, FailurePolicy, Park, ParkingError, ParkingLot, Record
from shardlane.consumer import (
    ConsumerError,
    MemoryLeaseStore,
    Position,
    Source,
    Subscription,
)
from shardlane.consumer.counters import Counters
from shardlane.consumer.held_record import HeldRecord
from shardlane.consumer.own_redrive import HandleOne, OwnRedrive
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.parked import Gate, Parked, parked_of
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import End, Redriven
from shardlane_lab.in_process_port import InProcessPort
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from tests.sim.stage import Stage, play


def record(number: int, key: str, sub: int = 0) -> Record:
    return Record(
        stream="orders",
        shard_id="s",
        sequence_number=str(number),
        sub_sequence_number=sub,
        partition_key=key,
        data=f"{key}-{number}.{sub}".encode(),
        arrival_ms=1_780_000_000_000 + number,
    )


class World:
    """A lot with two quarantined keys: alice's three records and bob's one."""

    def __init__(self) -> None:
        self.store = MemoryParkingStore()
        self.lot = ParkingLot(consumer="app", store=self.store)
        self.counters = Counters()
        self.stopping = False
        for since_ms, key, records in (
            (2, "alice", [record(1, "alice"), record(3, "alice", 0), record(3, "alice", 1)]),
            (1, "bob", [record(2, "bob")]),
        ):
            first, *others = (
                parked_of(each, consumer="app", reason="boom", attempts=3, now_ms=0, rev=f"{each}")
                for each in records
            )
            gate = Gate(consumer="app", key=key, version=1, since_ms=since_ms, reason="boom")
            self.store.park_first(gate, first)
            if others:
                self.store.park_behind("app", key_hash(key), others)

    def redrive(
        self, handler: HandleOne, keys: frozenset[str] | None = None, timeout_s: float = 5.0
    ) -> dict[str, Redriven]:
        async def main() -> dict[str, Redriven]:
            loop = asyncio.get_running_loop()
            redrive = OwnRedrive(self.lot, handler, loop, lambda: self.stopping, self.counters)
            return await asyncio.to_thread(redrive.run, keys, timeout_s)

        return asyncio.run(main())

    @property
    def quarantined(self) -> list[str]:
        return [gate.key for gate in self.store.gates("app")]


def plain(seen: list[str]) -> HandleOne:
    return lambda record: seen.append(record.text())


def awaited(seen: list[str]) -> HandleOne:
    async def handle(record: Record) -> None:
        await asyncio.sleep(0)
        seen.append(record.text())

    return handle


@pytest.mark.parametrize("kind", [plain, awaited], ids=["plain", "async"])
def test_every_key_is_handled_in_order_and_lifted(kind: Callable[[list[str]], HandleOne]) -> None:
    world, seen = World(), list[str]()
    found = world.redrive(kind(seen))
    assert seen == ["bob-2.0", "alice-1.0", "alice-3.0", "alice-3.1"]
    assert {key: (each.end, each.handled) for key, each in found.items()} == {
        "alice": (End.LIFTED, 3),
        "bob": (End.LIFTED, 1),
    }
    assert world.quarantined == []
    assert world.counters.redriven == 4


def test_only_the_keys_that_were_asked_for() -> None:
    world, seen = World(), list[str]()
    found = world.redrive(plain(seen), frozenset({"bob", "carol"}))
    assert seen == ["bob-2.0"]
    assert found["carol"].end is End.NOT_QUARANTINED
    assert world.quarantined == ["alice"]


def fail_at_second(error: Exception) -> Callable[[Record], None]:
    def handle(record: Record) -> None:
        if record.text() == "alice-3.0":
            raise error

    return handle


def test_a_key_stops_at_the_record_that_fails_and_its_hold_is_given_up() -> None:
    world = World()
    found = world.redrive(fail_at_second(RuntimeError("still broken")), frozenset({"alice"}))
    assert (found["alice"].end, found["alice"].handled) == (End.FAILED, 1)
    assert found["alice"].reason == "RuntimeError: still broken"
    first, second = world.store.parked("app", key_hash("alice"))
    assert (first.data, first.attempts, second.data) == (b"alice-3.0", 4, b"alice-3.1")
    assert world.store.acquire("app", key_hash("alice"), "another", 0, 1)


def test_a_handler_may_drop_its_record_in_a_redrive_and_parking_it_again_is_a_failure() -> None:
    world = World()
    found = world.redrive(fail_at_second(Drop("no longer wanted")), frozenset({"alice"}))
    assert found["alice"].end is End.LIFTED
    assert world.counters.dropped == 1
    world = World()
    found = world.redrive(fail_at_second(Park("not yet")), frozenset({"alice"}))
    assert found["alice"].end is End.FAILED


def test_an_async_handler_that_takes_too_long_is_cancelled_and_has_failed() -> None:
    cancelled = threading.Event()

    async def hang(record: Record) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    world = World()
    found = world.redrive(hang, frozenset({"bob"}), timeout_s=0.05)
    assert found["bob"].reason == "TimeoutError: the handler took more than 0.05 s"
    assert cancelled.is_set()


def test_a_stop_ends_it_before_the_next_record() -> None:
    world = World()

    def stop(record: Record) -> None:
        world.stopping = True

    found = world.redrive(stop, frozenset({"alice"}))
    assert (found["alice"].end, found["alice"].handled) == (End.NOT_RUN, 1)
    assert len(world.store.parked("app", key_hash("alice"))) == 2
    assert world.redrive(stop) == {}


def test_the_handler_gets_a_record_as_it_knows_them() -> None:
    seen: list[Any] = []
    World().redrive(seen.append, frozenset({"alice"}))
    assert [each.sub_sequence_number for each in seen] == [0, 0, 1]
    last = seen[-1]
    assert isinstance(last, HeldRecord)
    assert (last.fence, last.lease_lost) == (0, False)
    assert (last.stream, last.shard_id, last.partition_key) == ("orders", "s", "alice")
    assert last.arrival_ms == 1_780_000_000_003


# --- through a running subscription -------------------------------------------------------------


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("batches", [False, True], ids=["records", "batches"])
def test_a_running_subscription_redrives_what_it_parked_and_goes_on_in_order(
    batches: bool,
) -> None:
    broken, seen = True, list[str]()

    def handle(record: Record) -> None:
        if broken:
            raise ConnectionError("the database is gone")
        seen.append(record.text())

    def handle_all(records: Sequence[Record]) -> None:
        for each in records:
            handle(each)

    def now_ms() -> float:
        return time.time() * 1000

    async def main() -> None:
        nonlocal broken
        model = Kinesis(limits=Limits(creating_streams=None))
        model.call("CreateStream", {"StreamName": "orders", "ShardCount": 1}, now_ms())

        def put(data: str) -> None:
            request = {"StreamName": "orders", "PartitionKey": "alice", "Data": data.encode()}
            model.call("PutRecord", request, now_ms())

        await asyncio.sleep(0.1)
        store = MemoryParkingStore()
        lot = ParkingLot(consumer="app", store=store)
        subscription = Subscription(
            "orders",
            source=Source.polling(),
            leases=MemoryLeaseStore(),
            start=Position.horizon(),
            on_failure=FailurePolicy.park(lot, attempts=1),
            kinesis=InProcessPort(InProcessKinesis(model, now_ms), now_ms),
        )
        run: Awaitable[Any] = asyncio.create_task(
            subscription.run_batches(handle_all) if batches else subscription.run(handle)
        )
        for number in range(3):
            put(str(number))
        await until(lambda: len(store.parked("app", key_hash("alice"))) == 3)
        assert (await subscription.redrive())["alice"].end is End.FAILED
        broken = False
        redriven = await subscription.redrive(["alice"])
        assert (redriven["alice"].end, redriven["alice"].handled) == (End.LIFTED, 3)
        put("3")
        await until(lambda: len(seen) == 4)
        assert seen == ["0", "1", "2", "3"]
        assert subscription.stats().counters.redriven == 3
        subscription.stop()
        await run

    asyncio.run(main())


def test_a_redrive_needs_a_run_a_lot_and_threads() -> None:
    async def scene(stage: Stage) -> None:
        idle = Subscription("orders", kinesis=stage.port)
        with pytest.raises(ConsumerError, match="call run first"):
            await idle.redrive()
        running = stage.start()
        await asyncio.sleep(1)
        with pytest.raises(ConsumerError, match="on_failure does not park"):
            await running.redrive()
        lot = ParkingLot(consumer="app", store=MemoryParkingStore())
        parking = stage.start(on_failure=FailurePolicy.park(lot))
        await asyncio.sleep(1)
        with pytest.raises(ConsumerError, match="needs threads"):
            await parking.redrive()

    play(scene)


def test_a_key_whose_payload_is_gone_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, seen = World(), list[str]()

    def payload(parked: Parked) -> bytes:
        if parked.key == "bob":
            raise ParkingError("its object is gone")
        return parked.data or b""

    monkeypatch.setattr(world.store, "payload", payload)
    found = world.redrive(plain(seen))
    assert seen == ["alice-1.0", "alice-3.0", "alice-3.1"]
    assert (found["bob"].end, found["bob"].reason) == (End.NOT_RUN, "its object is gone")
    assert world.quarantined == ["bob"]
