"""The redriver, with the consumer's processor at the other end where that matters."""

from __future__ import annotations

from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import BadEvent, Drop, FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane.errors import ParkingError, RedriveRefused, StoreUnavailable
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.parked import Parked
from shardlane.parking.redrive import Answer, End, Redriven, Redriver, Sent
from shardlane.parking.redrive_marker import RedriveMarker, marked, marker_of, reason_in
from tests.unit.shardlane.entries import FIRST, Context, entry, sequence
from tests.unit.shardlane.packed import packed
from tests.unit.shardlane.parking.hooked_store import Outage, hooked
from tests.unit.shardlane.parking.lots import ALICE, CONSUMER, gate, parked
from tests.unit.shardlane.stepped_clock import SteppedClock

TIMEOUT_MS = 30_000


def quarantined(*positions: int) -> MemoryParkingStore:
    """A store in which alice's records of these places are parked."""
    store = MemoryParkingStore()
    first, *others = positions
    store.park_first(gate(), parked(first))
    if others:
        store.park_behind(CONSUMER, ALICE, [parked(each) for each in others])
    return store


class Consumer:
    """A consumer function: its processor, and what its handler does."""

    def __init__(self, store: Any, clock: SteppedClock, handler: Any = lambda record: None) -> None:
        lot = ParkingLot(consumer=CONSUMER, store=store)
        self.processor = KeyedBatchProcessor(
            on_failure=FailurePolicy.park(lot, attempts=3), clock=clock
        )
        self.clock = clock
        self.handled: list[int] = []
        self.handler = handler
        self.left_ms: float = TIMEOUT_MS

    def __call__(self, entry: dict[str, Any]) -> Sent:
        context: Any = Context(self.left_ms)
        try:
            response = process_partial_response(
                event={"Records": [entry]},
                record_handler=self._handle,
                processor=self.processor,
                context=context,
            )
        except RedriveRefused as error:
            return Sent(Answer.NOT_RUN, str(error))
        known, reason = reason_in(response)
        assert known
        if response["batchItemFailures"]:
            return Sent(Answer.FAILED, reason or "")
        return Sent(Answer.HANDLED)

    def _handle(self, record: Record) -> None:
        self.handler(record)
        self.handled.append((int(record.sequence_number) - FIRST) // 7)


def redriver(store: Any, send: Any, clock: SteppedClock, name: str = "me") -> Redriver:
    return Redriver(store, CONSUMER, send, timeout_ms=TIMEOUT_MS, clock=clock, run_id=lambda: name)


def broken(record: Record) -> None:
    raise RuntimeError("still broken")


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def test_a_key_is_redriven_in_order_and_its_quarantine_lifted(clock: SteppedClock) -> None:
    store = quarantined(0, 2, 1)
    consumer = Consumer(store, clock)
    assert redriver(store, consumer, clock).redrive(ALICE) == Redriven(End.LIFTED, handled=3)
    assert consumer.handled == [0, 1, 2]
    assert store.gates(CONSUMER) == []
    assert store.parked(CONSUMER, ALICE) == []


def test_it_stops_at_the_first_record_that_fails_again(clock: SteppedClock) -> None:
    store = quarantined(0, 1, 2)
    calls: list[int] = []

    def handler(record: Record) -> None:
        calls.append(int(record.sequence_number))
        if record.sequence_number == sequence(1):
            broken(record)

    result = redriver(store, Consumer(store, clock, handler), clock).redrive(ALICE)
    assert (result.end, result.handled) == (End.FAILED, 1)
    assert result.reason == "RuntimeError: still broken"
    assert len(calls) == 2  # tried once, whatever the consumer's policy says
    assert store.gate(CONSUMER, ALICE) == gate(version=2, count=3)
    assert store.parked(CONSUMER, ALICE) == [
        parked(1, attempts=4, reason="RuntimeError: still broken"),
        parked(2),
    ]


def test_a_record_that_the_handler_drops_is_done(clock: SteppedClock) -> None:
    store = quarantined(0)

    def drop(record: Record) -> None:
        raise Drop("obsolete")

    result = redriver(store, Consumer(store, clock, drop), clock).redrive(ALICE)
    assert result == Redriven(End.LIFTED, handled=1)


def test_the_first_record_can_be_skipped(clock: SteppedClock) -> None:
    store = quarantined(0, 1)
    consumer = Consumer(store, clock)
    result = redriver(store, consumer, clock).redrive(ALICE, skip_first=True)
    assert result == Redriven(End.LIFTED, handled=1, skipped=1)
    assert consumer.handled == [1]


def test_a_key_that_is_not_quarantined_needs_nothing(clock: SteppedClock) -> None:
    store = MemoryParkingStore()
    result = redriver(store, Consumer(store, clock), clock).redrive(ALICE)
    assert result == Redriven(End.NOT_QUARANTINED, 0)


def test_a_key_that_another_redrive_holds_is_left_alone(clock: SteppedClock) -> None:
    store = quarantined(0)
    now_ms = round(clock.wall_ms())
    store.acquire(CONSUMER, ALICE, "other", now_ms, now_ms + 1)
    consumer = Consumer(store, clock)
    assert redriver(store, consumer, clock).redrive(ALICE) == Redriven(End.NOT_HELD, 0)
    assert consumer.handled == []


def test_a_record_parked_behind_at_the_last_moment_is_redriven_too(clock: SteppedClock) -> None:
    store = quarantined(0)
    added: list[object] = []

    def park_behind(name: str) -> None:
        if name == "lift" and not added:
            added.append(store.park_behind(CONSUMER, ALICE, [parked(1)]))

    consumer = Consumer(store, clock)
    result = redriver(hooked(store, park_behind), consumer, clock).redrive(ALICE)
    assert result == Redriven(End.LIFTED, handled=2)
    assert consumer.handled == [0, 1]


def test_a_record_parked_between_the_two_reads_is_redriven_too(clock: SteppedClock) -> None:
    store = quarantined(0)
    added: list[object] = []

    def park_behind(name: str) -> None:
        if name == "parked" and not store.parked(CONSUMER, ALICE) and not added:
            added.append(store.park_behind(CONSUMER, ALICE, [parked(1)]))

    consumer = Consumer(store, clock)
    between = hooked(store, lambda name: None, park_behind)
    result = redriver(between, consumer, clock).redrive(ALICE)
    assert added
    assert result == Redriven(End.LIFTED, handled=2)
    assert consumer.handled == [0, 1]


@pytest.mark.parametrize("call", ["parked", "lift", "extend"])
def test_who_lost_the_hold_stops(call: str, clock: SteppedClock) -> None:
    # The hold ran out, another redrive took the key.
    store = quarantined(0, 1)
    later_ms = round(clock.wall_ms()) + 10**9

    def take_over(name: str) -> None:
        if name == call:
            store.acquire(CONSUMER, ALICE, "other", later_ms, later_ms)

    consumer = Consumer(store, clock)
    result = redriver(hooked(store, take_over), consumer, clock).redrive(ALICE)
    assert result.end is End.NOT_HELD
    assert consumer.handled == ([] if call != "lift" else [0, 1])
    found = store.gate(CONSUMER, ALICE)
    assert found is not None
    assert found.holder == "other"


def test_an_old_redrive_does_not_lift_a_quarantine_that_began_anew(clock: SteppedClock) -> None:
    store = quarantined(0)
    later_ms = round(clock.wall_ms()) + 10**9

    def anew(name: str) -> None:
        if name == "lift" and not again:
            # Another redrive took over and lifted; then the key was poison again: the version of
            # its new gate is the same.
            again.append(True)
            store.acquire(CONSUMER, ALICE, "other", later_ms, later_ms)
            assert store.lift(CONSUMER, ALICE, "other", 1)
            store.park_first(gate(), parked(5))

    again: list[bool] = []
    result = redriver(hooked(store, anew), Consumer(store, clock), clock).redrive(ALICE)
    assert result.end is End.NOT_HELD
    assert store.gate(CONSUMER, ALICE) == gate()
    assert store.parked(CONSUMER, ALICE) == [parked(5)]


def test_the_hold_outlasts_the_consumers_time_out(clock: SteppedClock) -> None:
    store = quarantined(0)
    seen = []

    def look(record: Record) -> None:
        found = store.gate(CONSUMER, ALICE)
        assert found is not None
        seen.append(found.hold_until_ms)

    redriver(store, Consumer(store, clock, look), clock).redrive(ALICE)
    assert seen == [round(clock.wall_ms()) + TIMEOUT_MS + 60_000]  # a minute of clock skew


def test_an_unknown_end_keeps_the_hold(clock: SteppedClock) -> None:
    store = quarantined(0)
    result = redriver(store, lambda entry: Sent(Answer.UNKNOWN, "no answer"), clock).redrive(ALICE)
    assert (result.end, result.reason) == (End.UNKNOWN, "no answer")
    found = store.gate(CONSUMER, ALICE)
    assert found is not None
    assert found.holder == "me"
    assert store.parked(CONSUMER, ALICE) == [parked(0)]


def test_a_record_that_was_not_run_counts_no_attempt(clock: SteppedClock) -> None:
    store = quarantined(0)
    result = redriver(store, lambda entry: Sent(Answer.NOT_RUN, "throttled"), clock).redrive(ALICE)
    assert (result.end, result.at) == (End.NOT_RUN, parked(0))
    assert store.gate(CONSUMER, ALICE) == gate()
    assert store.parked(CONSUMER, ALICE) == [parked(0)]


# A store that is unavailable for a while


@pytest.mark.parametrize(
    "call", ["acquire", "gate", "parked", "extend", "remove", "lift", "note_failure", "release"]
)
@pytest.mark.parametrize("late", ["", "late_"])
def test_a_call_that_is_lost_is_repeated_whether_it_happened_or_not(
    call: str, late: str, clock: SteppedClock
) -> None:
    outage = Outage(**{f"{late}{call}": 2})
    outage.memory.park_first(gate(), parked(0))
    fails = call in ("note_failure", "release")
    consumer = Consumer(outage.store, clock, broken if fails else lambda record: None)
    result = redriver(outage.store, consumer, clock).redrive(ALICE)
    assert result.end is (End.FAILED if fails else End.LIFTED)
    assert consumer.handled == ([] if fails else [0])
    if fails:
        assert outage.memory.gate(CONSUMER, ALICE) == gate()


def test_a_store_that_stays_away_ends_the_redrive_with_its_hold_in_place(
    clock: SteppedClock,
) -> None:
    outage = Outage(remove=10**6)
    outage.memory.park_first(gate(), parked(0))
    with pytest.raises(StoreUnavailable):
        redriver(outage.store, Consumer(outage.store, clock), clock).redrive(ALICE)
    found = outage.memory.gate(CONSUMER, ALICE)
    assert found is not None
    assert found.holder == "me"


# The consumer's side


def event_of(position: int, marker: RedriveMarker) -> dict[str, Any]:
    return marked(entry(position, "alice"), marker)


@pytest.mark.parametrize(
    ("marker", "left_ms", "message"),
    [
        (RedriveMarker("shipping", ALICE, "me"), 1, "does not park for consumer 'shipping'"),
        (RedriveMarker(CONSUMER, "0" * 64, "me"), 1, "not of the key"),
        (RedriveMarker(CONSUMER, ALICE, "other"), 1, "does not hold the key any more"),
        (RedriveMarker(CONSUMER, ALICE, "me"), 5_001, "hold ends before"),
    ],
)
def test_a_redrive_that_does_not_hold_the_key_is_refused(
    marker: RedriveMarker, left_ms: float, message: str, clock: SteppedClock
) -> None:
    store = quarantined(0)
    now_ms = round(clock.wall_ms())
    store.acquire(CONSUMER, ALICE, "me", now_ms, now_ms + 5_000)
    consumer = Consumer(store, clock)
    consumer.left_ms = left_ms
    sent = consumer(event_of(0, marker))
    assert sent.answer is Answer.NOT_RUN
    assert message in sent.reason
    assert consumer.handled == []


def test_a_redrive_that_holds_the_key_for_long_enough_is_run(clock: SteppedClock) -> None:
    store = quarantined(0)
    now_ms = round(clock.wall_ms())
    store.acquire(CONSUMER, ALICE, "me", now_ms, now_ms + 5_000)
    consumer = Consumer(store, clock)
    consumer.left_ms = 5_000
    assert consumer(event_of(0, RedriveMarker(CONSUMER, ALICE, "me"))).answer is Answer.HANDLED


def test_a_redriven_record_that_fails_is_not_parked_again(clock: SteppedClock) -> None:
    store = quarantined(0)
    consumer = Consumer(store, clock, broken)
    redriver(store, consumer, clock).redrive(ALICE)
    assert store.parked(CONSUMER, ALICE)[0].rev == "rev-0"


def test_a_redriven_record_is_not_unpacked_again(clock: SteppedClock) -> None:
    # An aggregate within an aggregate: the inner one is its producer's own business.
    data = packed([("bob", b"{}"), ("carol", b"{}")])
    store = MemoryParkingStore()
    store.park_first(gate(), parked(0, data=data))
    seen: list[tuple[str, bytes]] = []

    def look(record: Record) -> None:
        seen.append((record.partition_key, record.data))

    result = redriver(store, Consumer(store, clock, look), clock).redrive(ALICE)
    assert result == Redriven(End.LIFTED, handled=1)
    assert seen == [("alice", data)]


def test_a_function_without_a_lot_refuses_a_redrive() -> None:
    marker = RedriveMarker(CONSUMER, ALICE, "me")
    with pytest.raises(RedriveRefused, match="does not park"):
        process_partial_response(
            event={"Records": [event_of(0, marker)]},
            record_handler=lambda record: None,
            processor=KeyedBatchProcessor(),
        )


def test_a_damaged_marker_is_refused() -> None:
    marker = RedriveMarker(CONSUMER, ALICE, "me")
    with pytest.raises(BadEvent, match="one record, not 2"):
        marker_of([event_of(0, marker), entry(1)])
    with pytest.raises(BadEvent, match="damaged"):
        marker_of([entry(0) | {"shardlane": {"redrive": {"consumer": "c"}}}])
    assert marker_of([entry(0)]) is None
    assert marker_of([entry(0) | {"shardlane": {"sub_sequence_number": 1}}]) is None


def test_a_mappings_response_has_no_word_about_redrives(clock: SteppedClock) -> None:
    response = process_partial_response(
        event={"Records": [entry(0, "bob")]},
        record_handler=lambda record: None,
        processor=Consumer(MemoryParkingStore(), clock).processor,
    )
    assert response == {"batchItemFailures": []}


def test_a_payload_that_cannot_be_had_now_is_asked_for_again(
    clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, throttles = quarantined(0), [1, 1]
    payload = store.payload

    def throttled(record: Parked) -> bytes:
        if throttles:
            throttles.pop()
            raise StoreUnavailable("SlowDown")
        return payload(record)

    monkeypatch.setattr(store, "payload", throttled)
    result = redriver(store, Consumer(store, clock), clock).redrive(ALICE)
    assert result == Redriven(End.LIFTED, handled=1)


def test_a_key_whose_payload_is_gone_is_let_go_at_once(
    clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = quarantined(0, 1)

    def gone(record: Parked) -> bytes:
        raise ParkingError("its object is gone")

    monkeypatch.setattr(store, "payload", gone)
    with pytest.raises(ParkingError, match="is gone"):
        redriver(store, Consumer(store, clock), clock).redrive(ALICE)
    left = store.gate(CONSUMER, ALICE)
    assert left is not None
    assert left.holder is None
    assert len(store.parked(CONSUMER, ALICE)) == 2
    monkeypatch.undo()
    skipped = redriver(store, Consumer(store, clock), clock, "next").redrive(ALICE, skip_first=True)
    assert (skipped.end, skipped.handled, skipped.skipped) == (End.LIFTED, 1, 1)
