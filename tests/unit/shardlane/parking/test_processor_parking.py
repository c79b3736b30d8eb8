"""KeyedBatchProcessor under ``FailurePolicy.park``, with every driver."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import (
    Backoff,
    Drop,
    FailurePolicy,
    KeyedBatchProcessor,
    Park,
    ParkingError,
    ParkingLot,
    Record,
    SettingsError,
)
from shardlane.deadline import Deadline
from shardlane.drivers.effects import carry_out
from shardlane.drivers.overrun import park_overrun
from shardlane.keyed_batch import KeyedBatch
from shardlane.lambda_batch import LambdaBatch
from shardlane.parking.answers import First
from shardlane.parking.desk import BEHIND, ParkingDesk
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.place import key_hash
from shardlane.policy import Policies
from tests.unit.shardlane.entries import FIRST, Context, entry, event_of, reported
from tests.unit.shardlane.parking.hooked_store import Outage, hooked
from tests.unit.shardlane.parking.lots import CONSUMER, gate, parked
from tests.unit.shardlane.stepped_clock import SteppedClock

AT_ONCE = Backoff(first_ms=0, most_ms=0)
PATIENCE_S = 10.0


class Handler:
    """Fails on chosen places, for ever or a number of times; notes its calls by key."""

    def __init__(self, *failing: int, times: int = 10**6, error: Exception | None = None) -> None:
        self.failing = Counter(dict.fromkeys(failing, times))
        self.error = error or RuntimeError("boom")
        self.calls: list[int] = []

    def __call__(self, record: Record) -> None:
        place = (int(record.sequence_number) - FIRST) // 7
        self.calls.append(place)
        if self.failing[place] > 0:
            self.failing[place] -= 1
            raise self.error


class Driver:
    """One way of running a batch."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(
        self, on_failure: Any, event: Any, handler: Callable[[Record], Any], **more: Any
    ) -> tuple[int | None, KeyedBatchProcessor]:
        workers = 4 if self.name == "threads" else 1
        processor = KeyedBatchProcessor(workers=workers, on_failure=on_failure, **more)
        call: Any = handler
        if self.name == "event loop":

            async def call(record: Record) -> None:
                await asyncio.sleep(0)
                handler(record)

        context: Any = None if self.name == "inline" else Context()
        response = process_partial_response(
            event=event, record_handler=call, processor=processor, context=context
        )
        return reported(response), processor


@pytest.fixture(params=["inline", "one thread", "threads", "event loop"])
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(request.param)


@pytest.fixture
def store() -> MemoryParkingStore:
    return MemoryParkingStore()


def parking(store: Any, attempts: int = 1, **more: Any) -> FailurePolicy:
    lot = ParkingLot(
        consumer=CONSUMER, store=store, max_quarantined=more.pop("max_quarantined", 100)
    )
    return FailurePolicy.park(lot, attempts=attempts, backoff=AT_ONCE, **more)


def lot_of(store: MemoryParkingStore, key: str) -> list[int]:
    """The places in a key's lot."""
    found = store.parked(CONSUMER, key_hash(key))
    return [(int(each.sequence_number) - FIRST) // 7 for each in found]


def test_a_poison_record_and_its_key_are_parked_and_nothing_else(
    driver: Driver, store: MemoryParkingStore
) -> None:
    handler = Handler(1)
    result, processor = driver.run(parking(store), event_of("abacbab"), handler)
    assert result is None
    assert lot_of(store, "b") == [1, 4, 6]
    assert sorted(handler.calls) == [0, 1, 2, 3, 5]
    assert (processor.outcome.handled, processor.outcome.parked) == (4, 3)
    assert [(each.reason, each.attempts) for each in store.parked(CONSUMER, key_hash("b"))] == [
        ("RuntimeError: boom", 1),
        (BEHIND, 0),
        (BEHIND, 0),
    ]


def test_a_healthy_batch_reads_once_and_writes_nothing(driver: Driver) -> None:
    outage = Outage()
    result, _ = driver.run(parking(outage.store), event_of("abab"), Handler())
    assert result is None
    assert outage.calls == ["gates"]


def test_attempts_are_used_up_first(driver: Driver, store: MemoryParkingStore) -> None:
    handler = Handler(0, times=2)
    assert driver.run(parking(store, attempts=3), event_of("aa"), handler)[0] is None
    assert handler.calls == [0, 0, 0, 1]
    assert store.gates(CONSUMER) == []


def test_a_quarantined_key_is_not_handled(driver: Driver, store: MemoryParkingStore) -> None:
    store.park_first(gate("a"), parked(-1, "a"))
    handler = Handler()
    result, processor = driver.run(parking(store), event_of("abab"), handler)
    assert result is None
    assert sorted(handler.calls) == [1, 3]
    assert lot_of(store, "a") == [-1, 0, 2]
    assert (processor.outcome.parked, processor.outcome.failed) == (2, 0)


def test_the_gate_of_another_consumer_says_nothing(
    driver: Driver, store: MemoryParkingStore
) -> None:
    store.park_first(gate("a", consumer="shipping"), parked(-1, "a", consumer="shipping"))
    handler = Handler()
    driver.run(parking(store), event_of("a"), handler)
    assert handler.calls == [0]


def test_a_quarantine_lifted_meanwhile_lets_the_records_run_in_order(driver: Driver) -> None:
    memory = MemoryParkingStore()
    memory.park_first(gate("a"), parked(-1, "a"))

    asked: list[str] = []

    def lift(name: str) -> None:
        asked.append(name)
        if name == "park_behind":  # after P0, before T2: a redriver is faster
            memory._gates.clear()
            memory._lots.clear()

    handler = Handler()
    result, _ = driver.run(parking(hooked(memory, lift)), event_of("abaa"), handler)
    assert result is None
    assert [place for place in handler.calls if place != 1] == [0, 2, 3]
    assert memory.gates(CONSUMER) == []
    assert asked == ["gates", "park_behind"]


def test_a_record_that_is_in_the_lot_already_quarantines_its_key(driver: Driver) -> None:
    # The invocation before parked 0 and died before its answer; its gate is younger than our P0.
    memory = MemoryParkingStore()

    def die_before(name: str) -> None:
        if name == "park_first" and not memory.gates(CONSUMER):
            memory.park_first(gate("a"), parked(0, "a"))

    handler = Handler(0)
    result, _ = driver.run(parking(hooked(memory, die_before)), event_of("aab"), handler)
    assert result is None
    assert 1 not in handler.calls
    assert lot_of(memory, "a") == [0, 1]


def test_a_gate_that_somebody_else_made_quarantines_the_key(driver: Driver) -> None:
    # Another record of the key was parked since our P0, by an invocation that is a zombie now.
    memory = MemoryParkingStore()

    def zombie(name: str) -> None:
        if name == "park_first" and not memory.gates(CONSUMER):
            memory.park_first(gate("a"), parked(-1, "a"))

    handler = Handler(0)
    result, _ = driver.run(parking(hooked(memory, zombie)), event_of("aab"), handler)
    assert result is None
    assert 1 not in handler.calls
    assert lot_of(memory, "a") == [-1, 0, 1]
    assert store_reasons(memory, "a")[1] == ("RuntimeError: boom", 1)


def store_reasons(store: MemoryParkingStore, key: str) -> list[tuple[str, int]]:
    return [(each.reason, each.attempts) for each in store.parked(CONSUMER, key_hash(key))]


def test_a_gate_that_came_and_went_lets_the_record_be_tried_again(driver: Driver) -> None:
    memory = MemoryParkingStore()
    came: list[str] = []

    def come_and_go(name: str) -> None:
        if name == "park_first" and not came:
            came.append(name)
            memory.park_first(gate("a"), parked(-1, "a"))
        elif name == "park_behind":
            memory._gates.clear()
            memory._lots.clear()

    handler = Handler(0, times=1)
    result, _ = driver.run(parking(hooked(memory, come_and_go)), event_of("aa"), handler)
    assert result is None
    assert handler.calls == [0, 0, 1]
    assert memory.gates(CONSUMER) == []


def test_nothing_starts_while_the_quarantine_cannot_be_read(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shardlane.invocation.PATIENCE_WITHOUT_DEADLINE_S", 0.01)
    monkeypatch.setattr("tests.unit.shardlane.entries.Context.get_remaining_time_in_millis", _short)
    outage, handler = Outage(gates=10**6), Handler()
    result, processor = driver.run(parking(outage.store), event_of("ab"), handler)
    assert result == 0
    assert handler.calls == []
    assert processor.outcome.blocked is not None
    assert "none of 2 records was started: the quarantine cannot be read" in caplog.text


def _short(context: Context) -> float:
    return 20.0


def test_the_quarantine_is_asked_for_until_the_margin_and_not_given_up_before() -> None:
    # If it were, the mapping's retries would be used up while the table is away.
    outage, clock = Outage(gates=10**6), SteppedClock()
    processor = KeyedBatchProcessor(on_failure=parking(outage.store), clock=clock)
    assert reported(in_time(processor, "ab", Handler(), left_ms=600_000)) == 0
    assert 590 < sum(clock.slept_s) < 595


def test_a_store_that_comes_back_in_time_costs_only_time(driver: Driver) -> None:
    outage, handler = Outage(gates=2, park_first=1, late_park_behind=1), Handler(0)
    result, _ = driver.run(parking(outage.store), event_of("aab"), handler)
    assert result is None
    assert lot_of(outage.memory, "a") == [0, 1]


def test_a_record_that_cannot_be_parked_holds_up_the_shard(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardlane.parking.patience.PATIENCE", Backoff(first_ms=1e9, most_ms=1e9))
    for call in ("park_first", "park_behind"):
        outage = Outage(**{call: 10**6})
        outage.memory.park_first(gate("b"), parked(-1, "b"))
        outage.calls.clear()
        result, processor = driver.run(parking(outage.store), event_of("cabcba"), Handler(1))
        assert result == (1 if call == "park_first" else 2)
        reasons = [failure.reason for failure in processor.outcome.first_failures]
        assert any("cannot park: StoreUnavailable" in reason for reason in reasons)


def test_a_lot_that_is_not_set_up_ends_the_invocation_before_anything_starts(
    driver: Driver,
) -> None:
    def forbidden(name: str) -> None:
        raise ParkingError("table t: AccessDeniedException")

    handler = Handler()
    with pytest.raises(ParkingError, match="AccessDenied"):
        driver.run(parking(hooked(MemoryParkingStore(), forbidden)), event_of("a"), handler)
    assert handler.calls == []


def test_a_handler_may_park_its_record_at_once(driver: Driver, store: MemoryParkingStore) -> None:
    handler = Handler(0, error=Park("by hand"))
    driver.run(parking(store, attempts=3), event_of("aab"), handler)
    assert handler.calls.count(0) == 1
    assert store_reasons(store, "a")[0] == ("by hand", 1)


def test_a_handler_may_park_although_its_policy_stops(
    driver: Driver, store: MemoryParkingStore
) -> None:
    policies = {Exception: FailurePolicy.stop(), ValueError: parking(store)}
    assert driver.run(policies, event_of("ab"), Handler(0, error=Park("by hand")))[0] is None
    assert lot_of(store, "a") == [0]


def test_policies_by_class(driver: Driver, store: MemoryParkingStore) -> None:
    policies = {
        Exception: parking(store),
        KeyError: FailurePolicy.drop(),
        OSError: FailurePolicy.stop(),
    }
    assert driver.run(policies, event_of("ab"), Handler(0, error=ValueError()))[0] is None
    assert driver.run(policies, event_of("cb"), Handler(0, error=KeyError()))[0] is None
    assert driver.run(policies, event_of("db"), Handler(0, error=TimeoutError()))[0] == 0
    assert [each.key for each in store.gates(CONSUMER)] == ["a"]


def test_two_lots_in_one_processor_are_refused() -> None:
    policies = {Exception: parking(MemoryParkingStore()), KeyError: parking(MemoryParkingStore())}
    with pytest.raises(SettingsError, match="several lots"):
        KeyedBatchProcessor(on_failure=policies)


def test_a_damaged_record_is_parked_like_any_other(
    driver: Driver, store: MemoryParkingStore
) -> None:
    broken = entry(0, "a")
    broken["kinesis"]["data"] = "@@@@"
    assert driver.run(parking(store), {"Records": [broken, entry(1, "b")]}, Handler())[0] is None
    assert lot_of(store, "a") == [0]


# The breaker


def test_an_outage_parks_no_more_than_the_breaker_lets(
    driver: Driver, store: MemoryParkingStore
) -> None:
    keys = "abcdefghij"
    handler = Handler(*range(10))
    result, processor = driver.run(parking(store), event_of(keys), handler)
    assert result is not None
    assert len(store.gates(CONSUMER)) == 5
    assert processor.outcome.parked == 5
    assert processor.outcome.outage
    assert processor.outcome.failed > 5


def test_the_breaker_allows_a_share_of_many_keys(driver: Driver, store: MemoryParkingStore) -> None:
    letters = "".join(chr(ord("A") + number) for number in range(40))
    result, processor = driver.run(parking(store), event_of(letters), Handler(*range(12)))
    assert result is None
    assert not processor.outcome.outage
    assert len(store.gates(CONSUMER)) == 12
    store = MemoryParkingStore()
    result, _ = driver.run(parking(store), event_of(letters), Handler(*range(13)))
    assert result is not None
    assert len(store.gates(CONSUMER)) == 12


def test_one_key_that_fails_again_and_again_is_no_outage(
    driver: Driver, store: MemoryParkingStore
) -> None:
    policies = {Exception: FailurePolicy.drop(), KeyError: parking(store)}
    result, processor = driver.run(policies, event_of("a" * 20), Handler(*range(20)))
    assert result is None
    assert processor.outcome.dropped == 20


def test_an_outage_drops_no_more_than_the_breaker_lets(driver: Driver) -> None:
    result, processor = driver.run(
        FailurePolicy.drop(), event_of("abcdefghij"), Handler(*range(10))
    )
    assert result is not None
    assert processor.outcome.dropped == 5


def test_what_a_handler_drops_itself_is_never_held_back(driver: Driver) -> None:
    handler = Handler(*range(10), error=Drop("obsolete"))
    result, processor = driver.run(FailurePolicy.stop(), event_of("abcdefghij"), handler)
    assert result is None
    assert processor.outcome.dropped == 10


def test_the_bound_on_new_keys_can_be_set(driver: Driver, store: MemoryParkingStore) -> None:
    policy = parking(store, max_new_keys=1)
    assert driver.run(policy, event_of("abcdefghij"), Handler(0, 1))[0] is not None
    assert len(store.gates(CONSUMER)) == 1


def test_nothing_new_is_parked_when_many_keys_are_quarantined(
    driver: Driver, store: MemoryParkingStore
) -> None:
    for number, key in enumerate("xy"):
        store.park_first(gate(key), parked(-1 - number, key))
    policy = parking(store, max_quarantined=2)
    # The keys that are quarantined go on being parked.
    result, _ = driver.run(policy, event_of("xab"), Handler(1))
    assert result == 1
    assert lot_of(store, "x") == [-1, 0]
    assert len(store.gates(CONSUMER)) == 2


# Handlers that overrun


def in_time(processor: KeyedBatchProcessor, keys: str, handler: Any, *, left_ms: float) -> Any:
    context: Any = Context(left_ms)
    return process_partial_response(
        event=event_of(keys), record_handler=handler, processor=processor, context=context
    )


def overrunning(driver_name: str, release: threading.Event, hangs: str) -> Any:
    if driver_name == "event loop":

        async def handle_async(record: Record) -> None:
            if record.partition_key in hangs:
                await asyncio.sleep(60)

        return handle_async

    def handle(record: Record) -> None:
        if record.partition_key in hangs:
            release.wait(PATIENCE_S)

    return handle


@pytest.mark.parametrize(("name", "workers"), [("thread", 1), ("threads", 4), ("event loop", 4)])
def test_a_handler_that_hangs_is_parked_with_the_reason(
    name: str, workers: int, store: MemoryParkingStore
) -> None:
    release = threading.Event()
    processor = KeyedBatchProcessor(workers=workers, on_failure=parking(store), margin_ms=150)
    response = in_time(processor, "aab", overrunning(name, release, "a"), left_ms=300)
    release.set()
    assert reported(response) == 1
    assert lot_of(store, "a") == [0]
    assert "time-out: the handler was still running" in store_reasons(store, "a")[0][0]


def test_a_handler_that_started_late_is_delivered_again_and_not_parked(
    store: MemoryParkingStore,
) -> None:
    clock = SteppedClock()
    policies = Policies(parking(store))
    batch = KeyedBatch(LambdaBatch(event_of("ab")["Records"]), policies, lambda: 0.5)
    started_s = {batch.schedule.take(): clock.now_s, batch.schedule.take(): clock.now_s + 6}
    deadline = Deadline(clock.now_s, clock.now_s + 9, clock.now_s + 10, clock.now_s + 10.5)
    clock.now_s += 10
    lot = policies.lot
    assert lot is not None
    desk = ParkingDesk(lot, clock=clock, until_s=0, draw=lambda: 0.5)
    for effects in park_overrun(batch, started_s, clock, deadline, desk):  # type: ignore[arg-type]
        carry_out(effects, lambda record: None)
    assert lot_of(store, "a") == [0]
    assert lot_of(store, "b") == []
    assert batch.schedule.unsettled() == [1]


def test_a_hanging_handler_whose_key_is_quarantined_by_then_is_parked_behind(
    store: MemoryParkingStore,
) -> None:
    release = threading.Event()

    def quarantine(name: str) -> None:
        if name == "park_first" and not store.gates(CONSUMER):
            store.park_first(gate("a"), parked(-1, "a"))

    processor = KeyedBatchProcessor(
        workers=2, on_failure=parking(hooked(store, quarantine)), margin_ms=150
    )
    response = in_time(processor, "a", overrunning("threads", release, "a"), left_ms=300)
    release.set()
    assert reported(response) is None
    assert lot_of(store, "a") == [-1, 0]


def test_a_handler_that_fails_after_the_answer_parks_nothing(store: MemoryParkingStore) -> None:
    clock, release = SteppedClock(), threading.Event()

    def handler(record: Record) -> None:
        if record.partition_key == "a":
            clock.now_s += 0.3  # nothing starts after 0.4 s, the caller leaves at 0.5 s
            return
        clock.now_s += 0.21  # too short a run to be blamed for the time-out
        release.wait(PATIENCE_S)
        raise RuntimeError("boom")

    processor = KeyedBatchProcessor(on_failure=parking(store), margin_ms=200, clock=clock)
    assert reported(in_time(processor, "ab", handler, left_ms=600)) == 1
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("shardlane-"):
            thread.join(PATIENCE_S)
    assert store.gates(CONSUMER) == []


def test_the_log_counts_what_was_parked(
    store: MemoryParkingStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Driver("inline").run(parking(store), event_of("aab"), Handler(0))
    details: Any = caplog.records[0].__dict__["shardlane"]
    assert (details["parked"], details["failed"], details["first_unsettled"]) == (2, 1, None)
    assert details["failures"][0]["action"] == "park"


def test_t1_answers_are_exhausted() -> None:
    assert {each.name for each in First} == {"PARKED", "ALREADY_PARKED", "GATE_EXISTS", "NOT_OWNER"}


def test_a_record_that_the_event_has_twice_is_parked_once_and_settled_twice() -> None:
    store = MemoryParkingStore()
    policy = FailurePolicy.park(ParkingLot(consumer=CONSUMER, store=store), attempts=1)
    event = event_of("aaab")
    event["Records"] = [event["Records"][each] for each in (0, 0, 1, 1, 2, 3)]
    processor = KeyedBatchProcessor(on_failure=policy)
    response = process_partial_response(event=event, record_handler=Handler(0), processor=processor)
    assert reported(response) is None
    assert len(store.parked(CONSUMER, key_hash("a"))) == 3
