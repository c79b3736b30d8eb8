"""Scenes of parking: what a poison record costs, who knows of it, and what an outage does not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import pytest

from shardlane import Backoff, FailurePolicy, Park, ParkingLot, Record
from shardlane.consumer import by_key, workers
from shardlane.consumer.worker_plan import WorkerPlan
from shardlane.errors import ParkingError, PayloadTooLarge, StoreUnavailable
from shardlane.parking.answers import Behind, First
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.parked import Gate, Parked
from shardlane.parking.place import key_hash
from shardlane.parking.store import OwnerCheck
from tests.sim.stage import SharedMemoryStore, SharedTable, Stage, play

SHARD = "shardId-000000000000"
QUICK = Backoff(first_ms=10, most_ms=100)


def lot_of(stage: Stage, most: int = 100) -> tuple[MemoryParkingStore, ParkingLot]:
    assert isinstance(stage.store, SharedMemoryStore)
    store = MemoryParkingStore(owns=stage.store.owns)
    return store, ParkingLot(consumer="app", store=store, max_quarantined=most)


def park(lot: ParkingLot, attempts: int = 2) -> FailurePolicy:
    return FailurePolicy.park(lot, attempts, QUICK)


async def fail_poison(record: Record) -> None:
    if record.text().startswith("poison"):
        raise RuntimeError("boom")


def parked(store: MemoryParkingStore, key: str) -> list[bytes | None]:
    return [each.data for each in store.parked("app", key_hash(key))]


@pytest.mark.parametrize(
    "plan", [WorkerPlan(), workers(3, by_key), workers(3)], ids=["loop", "keyed", "pool"]
)
def test_a_poison_record_and_what_follows_of_its_key_are_parked(plan: WorkerPlan) -> None:
    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage)
        stage.put("poison", "alice")
        running = stage.start(fail_poison, plan, on_failure=park(lot))
        await stage.until(2)
        await asyncio.sleep(1)
        for number in range(4):
            stage.put(f"a{number}", "alice")
            last = stage.put(f"b{number}", "bob")
        await asyncio.sleep(5)
        assert parked(store, "alice") == [b"poison", b"a0", b"a1", b"a2", b"a3"]
        assert stage.data == ["poison", "poison", "b0", "b1", "b2", "b3"]
        assert stage.rows[SHARD].checkpoint.value == last
        stats = running.stats()
        assert (stats.counters.parked, stats.counters.handled) == (5, 4)
        (gate,) = store.gates("app")
        assert gate.reason == "RuntimeError: boom"

    play(scene)


class Transactions(MemoryParkingStore):
    """Remembers how many records each T2 had."""

    def __init__(self, owns: Callable[[OwnerCheck], bool]) -> None:
        super().__init__(owns=owns)
        self.sizes: list[int] = []

    def park_behind(
        self, consumer: str, hash_: str, records: Sequence[Parked], owner: OwnerCheck | None = None
    ) -> Behind:
        self.sizes.append(len(records))
        return super().park_behind(consumer, hash_, records, owner)


@pytest.mark.parametrize("plan", [WorkerPlan(), workers(3, by_key)], ids=["loop", "keyed"])
def test_what_waits_behind_a_poison_record_is_parked_fifty_at_a_time(plan: WorkerPlan) -> None:
    """Of its key alone: what another key put among it is handled."""

    async def scene(stage: Stage) -> None:
        assert isinstance(stage.store, SharedMemoryStore)
        store = Transactions(stage.store.owns)
        lot = ParkingLot(consumer="app", store=store)
        stage.put("poison", "alice")
        for number in range(120):
            stage.put(f"a{number}", "alice")
            last = stage.put(f"b{number}", "bob")
        slow = FailurePolicy.park(lot, 2, Backoff(first_ms=5_000, most_ms=5_000))
        running = stage.start(fail_poison, plan, on_failure=slow)
        await stage.until(122)
        await asyncio.sleep(20)
        expected = [f"a{number}".encode() for number in range(120)]
        assert parked(store, "alice") == [b"poison", *expected]
        handled = [each for each in stage.data if each != "poison"]
        assert handled == [f"b{number}" for number in range(120)]
        assert running.stats().counters.parked == 121
        assert sum(store.sizes) == 120
        assert max(store.sizes) == 50
        assert len(store.sizes) <= 4, store.sizes
        assert stage.rows[SHARD].checkpoint.value == last

    play(scene)


def test_a_batch_of_a_quarantined_key_is_parked_together() -> None:
    seen: list[str] = []

    async def fail_batch(records: Sequence[Record]) -> None:
        if any(each.text() == "poison" for each in records):
            raise RuntimeError("boom")
        seen.extend(each.text() for each in records)

    async def scene(stage: Stage) -> None:
        assert isinstance(stage.store, SharedMemoryStore)
        store = Transactions(stage.store.owns)
        lot = ParkingLot(consumer="app", store=store)
        stage.put("poison", "alice")
        stage.start_batches(fail_batch, on_failure=park(lot, 1), size=30)
        await asyncio.sleep(2)
        for number in range(40):
            stage.put(f"a{number}", "alice")
            stage.put(f"b{number}", "bob")
        await asyncio.sleep(5)
        expected = [f"a{number}".encode() for number in range(40)]
        assert parked(store, "alice") == [b"poison", *expected]
        assert seen == [f"b{number}" for number in range(40)]
        assert sum(store.sizes) == 40
        assert len(store.sizes) <= 3, store.sizes

    play(scene)


class Choosy(Transactions):
    """Has no bucket for what is large."""

    def fitted(self, record: Parked) -> Parked:
        if record.data == b"large":
            raise PayloadTooLarge("give the parking lot a bucket")
        return super().fitted(record)


def test_a_record_that_the_lot_refuses_holds_up_only_what_follows_of_its_key() -> None:
    async def scene(stage: Stage) -> None:
        assert isinstance(stage.store, SharedMemoryStore)
        store = Choosy(stage.store.owns)
        lot = ParkingLot(consumer="app", store=store)
        for data, key in [
            ("poison", "alice"),
            ("a0", "alice"),
            ("large", "alice"),
            ("a1", "alice"),
        ]:
            stage.put(data, key)
        last = stage.put("b0", "bob")
        running = stage.start(fail_poison, on_failure=park(lot, 1))
        await asyncio.sleep(20)
        assert parked(store, "alice") == [b"poison", b"a0"]
        assert stage.data == ["poison", "b0"]
        assert running.stats().counters.parked == 2
        assert stage.rows[SHARD].checkpoint.value != last

    play(scene)


def test_a_new_owner_knows_what_is_parked() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage)
        stage.put("poison", "alice")
        first = stage.start(fail_poison, on_failure=park(lot))
        await stage.until(2)
        await asyncio.sleep(2)
        await stage.stop(first)
        stage.put("next", "alice")
        stage.put("other", "bob")
        stage.start(fail_poison, on_failure=park(lot))
        await stage.until(3)
        assert stage.data[2:] == ["other"]
        assert parked(store, "alice") == [b"poison", b"next"]

    play(scene)


def test_a_key_that_was_lifted_is_handled_again() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage)
        stage.put("poison", "alice")
        running = stage.start(fail_poison, on_failure=park(lot))
        await stage.until(2)
        await asyncio.sleep(1)
        lift(store, "alice")
        stage.put("next", "alice")
        await stage.until(3)
        assert stage.data[2:] == ["next"]
        assert not store.gates("app")
        assert running.stats().counters.parked == 1

    play(scene)


def lift(store: MemoryParkingStore, key: str) -> None:
    """What a redrive of the whole key comes to."""
    hash_ = key_hash(key)
    assert store.acquire("app", hash_, "me", 0, 1)
    for each in store.parked("app", hash_):
        store.remove(each)
    gate = store.gate("app", hash_)
    assert gate is not None
    assert store.lift("app", hash_, "me", gate.version)


def test_an_outage_is_not_poison_and_passes() -> None:
    """Thirty keys of thirty fail: five may be poison, the others wait until it is over."""
    broken = True

    async def fail_while_broken(record: Record) -> None:
        if broken:
            raise ConnectionError("the database is gone")

    async def scene(stage: Stage) -> None:
        nonlocal broken
        store, lot = lot_of(stage)
        stage.start(fail_while_broken, workers(8, by_key), on_failure=park(lot))
        for number in range(90):
            stage.put(f"{number}", f"key-{number % 30}")
        await asyncio.sleep(90)
        quarantined = {gate.key for gate in store.gates("app")}
        assert len(quarantined) == 5
        broken = False
        stage.seen.clear()
        await asyncio.sleep(20)
        handled = Counter(each.key for each in stage.seen)
        assert handled == {f"key-{key}": 3 for key in range(30) if f"key-{key}" not in quarantined}

    play(scene)


def test_a_full_lot_holds_up_the_next_key() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage, most=2)
        running = stage.start(fail_poison, workers(4, by_key), on_failure=park(lot, 1))
        for number in range(3):
            stage.put("poison", f"key-{number}")
            await asyncio.sleep(2)
        assert len(store.gates("app")) == 2
        (held,) = running.stats().held
        assert held.reason == "many keys fail, so it stays: RuntimeError: boom"

    play(scene)


def test_keys_that_others_have_lifted_do_not_fill_the_lot() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage, most=2)
        running = stage.start(fail_poison, workers(4, by_key), on_failure=park(lot, 1))
        for number in range(9):
            stage.put("poison", f"key-{number}")
            await asyncio.sleep(20)
            lift(store, f"key-{number}")
        assert running.stats().counters.parked == 9
        assert not running.stats().held

    play(scene)


def test_a_handler_may_park_its_record_at_once() -> None:
    async def refuse(record: Record) -> None:
        raise Park("not today")

    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage)
        stage.put("1", "alice")
        stage.start(refuse, on_failure=park(lot, 9))
        await asyncio.sleep(2)
        assert stage.data == ["1"]
        assert [gate.reason for gate in store.gates("app")] == ["not today"]

    play(scene)


def test_a_batch_parks_the_record_that_fails_and_its_key() -> None:
    async def fail_batch(records: Sequence[Record]) -> None:
        seen.append([each.text() for each in records])
        if any(each.text() == "poison" for each in records):
            raise RuntimeError("boom")

    seen: list[list[str]] = []

    async def scene(stage: Stage) -> None:
        store, lot = lot_of(stage)
        for data, key in [("b0", "bob"), ("poison", "alice"), ("a1", "alice"), ("b1", "bob")]:
            stage.put(data, key)
        stage.start_batches(fail_batch, on_failure=park(lot, 1), size=10)
        await asyncio.sleep(3)
        assert parked(store, "alice") == [b"poison", b"a1"]
        assert seen == [["b0", "poison", "a1", "b1"], ["b0", "poison"], ["b0"], ["poison"], ["b1"]]

    play(scene)


class Faulty(MemoryParkingStore):
    """Fails as a test says; the answers that it did give are kept."""

    def __init__(self, owns: Callable[[OwnerCheck], bool]) -> None:
        super().__init__(owns)
        self.down = False
        self.error: ParkingError = StoreUnavailable("throttled")
        self.parkings: list[First] = []

    def gates(self, consumer: str) -> list[Gate]:
        self._check()
        return super().gates(consumer)

    def park_first(self, gate: Gate, record: Parked, owner: OwnerCheck | None = None) -> First:
        self._check()
        self.parkings.append(super().park_first(gate, record, owner))
        return self.parkings[-1]

    def _check(self) -> None:
        if self.down:
            raise self.error


def faulty(stage: Stage) -> tuple[Faulty, ParkingLot]:
    assert isinstance(stage.store, SharedMemoryStore)
    store = Faulty(stage.store.owns)
    return store, ParkingLot(consumer="app", store=store)


def test_nothing_starts_before_the_quarantined_keys_are_known() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = faulty(stage)
        store.down = True
        stage.put("1", "alice")
        running = stage.start(fail_poison, on_failure=park(lot))
        await asyncio.sleep(30)
        assert stage.data == []
        assert running.stats().counters.leases_lost == 0
        store.down = False
        await stage.until(1, within_s=10)

    play(scene)


def test_while_the_lot_is_away_a_poison_key_waits_and_others_go_on() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = faulty(stage)
        running = stage.start(fail_poison, workers(2, by_key), on_failure=park(lot, 1))
        await asyncio.sleep(1)
        store.down = True
        for data, key in [("poison", "alice"), ("a1", "alice"), ("b1", "bob")]:
            stage.put(data, key)
        await asyncio.sleep(20)
        assert set(stage.data) == {"poison", "b1"}
        assert running.stats().counters.parked == 0
        store.down = False
        await asyncio.sleep(10)
        assert parked(store, "alice") == [b"poison", b"a1"]
        assert "a1" not in stage.data

    play(scene)


def test_what_a_lot_refuses_for_good_holds_up_its_key() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = faulty(stage)
        running = stage.start(fail_poison, on_failure=park(lot, 1))
        await asyncio.sleep(1)
        store.down, store.error = True, ParkingError("no such bucket")
        stage.put("poison", "alice")
        await asyncio.sleep(5)
        (held,) = running.stats().held
        assert held.reason == "cannot be parked (no such bucket): RuntimeError: boom"
        store.down = False
        await asyncio.sleep(10)
        assert parked(store, "alice") == [b"poison"]

    play(scene)


def test_a_lot_that_cannot_be_used_ends_the_run() -> None:
    async def scene(stage: Stage) -> None:
        store, lot = faulty(stage)
        store.down, store.error = True, ParkingError("there is no such table")
        running = stage.start(fail_poison, on_failure=park(lot))
        with pytest.raises(ParkingError, match="no such table"):
            await stage.ended(running)
        assert all(row.owner is None for row in stage.rows.values())

    play(scene)


async def _zombie(stage: Stage, outlive: Callable[[Record], Awaitable[None]]) -> Faulty:
    """A handler fails after its lease has become another's."""
    store, lot = faulty(stage)
    stage.put("1", "alice")
    first = stage.start(outlive, on_failure=park(lot, 1))
    await stage.until(1)
    row = stage.rows[SHARD]
    # Another takes it over; this one does not notice before its next write.
    await stage.table.take(row, "shardlane/other", None)
    await asyncio.sleep(2.5)
    await stage.kill(first)
    return store


async def _outlive(record: Record) -> None:
    await asyncio.sleep(1)
    raise RuntimeError("late")


def test_who_has_lost_its_lease_parks_nothing() -> None:
    async def scene(stage: Stage) -> None:
        store = await _zombie(stage, _outlive)
        assert store.parkings == [First.NOT_OWNER]
        assert not store.gates("app")

    play(scene)


def test_without_the_check_of_the_lease_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(stage: Stage) -> None:
        store = await _zombie(stage, _outlive)
        assert store.gates("app")

    monkeypatch.setattr(SharedTable, "owner_check", lambda self, shard_id, me: None)
    play(scene)
