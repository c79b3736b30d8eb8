"""Every condition of the parking protocol, taken out one at a time: the test named beside it fails.

``P0`` is what an invocation reads first, ``T1`` and ``T2`` its two transactions, ``R1`` to ``R6``
the steps of a redrive; ``shardlane.parking.store`` has the list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shardlane import Backoff, invocation
from shardlane.breaker import Breaker
from shardlane.errors import StoreUnavailable
from shardlane.keyed_batch import KeyedBatch
from shardlane.parking import desk, redrive, redrive_marker
from shardlane.parking.answers import First
from shardlane.parking.desk import ParkingDesk, Settled
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.redrive import Answer, Redriver
from shardlane.policy import FailurePolicy, Policies
from tests.unit.shardlane.parking import test_desk as on_the_desk
from tests.unit.shardlane.parking import test_dynamodb_parking as on_dynamodb
from tests.unit.shardlane.parking import test_processor_parking as in_the_processor
from tests.unit.shardlane.parking import test_redrive as in_a_redrive
from tests.unit.shardlane.parking import test_store_contract as contract
from tests.unit.shardlane.parking.lots import ALICE, CONSUMER, gate, parked
from tests.unit.shardlane.stepped_clock import SteppedClock

Change = Callable[[dict[str, Any]], Any]
TRUE, FALSE = "attribute_not_exists(nothing)", "attribute_exists(nothing)"

# --- conditions of the stores -----------------------------------------------------------------


def empty(store: Any) -> Any:
    return store


def quarantined(store: Any) -> Any:
    """Alice's record 0 is parked."""
    assert store.park_first(gate(), parked(0)) is First.PARKED
    return store


def held(store: Any) -> Any:
    """… and redriver me holds her until 5,000."""
    assert quarantined(store).acquire(CONSUMER, ALICE, "me", 1_000, 5_000)
    return store


class Loose:
    """A DynamoDB client on which some requests are changed."""

    def __init__(self, client: Any, operation: str, change: Change) -> None:
        self._client, self._operation, self._change = client, operation, change

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name != self._operation:
            return method

        def call(**request: Any) -> Any:
            changed = self._change(request)
            return method(**(request if changed is None else changed))

        return call


def condition(part: str, instead: str, *, where: str = "") -> Change:
    """Replaces a part of a single write's condition; ``where``: part of its update."""

    def change(request: dict[str, Any]) -> None:
        if where in request.get("UpdateExpression", ""):
            replaced = request["ConditionExpression"].replace(part, f"({part} {instead})")
            request["ConditionExpression"] = replaced

    return change


def put_of(prefix: str) -> Change:
    """A transaction puts items of this kind whether they are there or not."""

    def change(request: dict[str, Any]) -> None:
        for write in request["TransactItems"]:
            put = write.get("Put")
            if put is not None and put["Item"]["pk"]["S"].startswith(prefix):
                put["ConditionExpression"] = TRUE

    return change


def gate_need_not_exist(request: dict[str, Any]) -> None:
    for write in request["TransactItems"]:
        if "Update" in write:
            write["Update"]["ConditionExpression"] = TRUE


def version_stays(request: dict[str, Any]) -> None:
    for write in request["TransactItems"]:
        if "Update" in write:
            write["Update"]["UpdateExpression"] = "ADD n :count"
            del write["Update"]["ExpressionAttributeValues"][":one"]


def no_owner_check(request: dict[str, Any]) -> None:
    items = request["TransactItems"]
    request["TransactItems"] = [each for each in items if "ConditionCheck" not in each]


def one_page(request: dict[str, Any]) -> dict[str, Any]:
    return request | {"Limit": 1}


OR_TRUE, AND_FALSE = f"OR {TRUE}", f"AND {FALSE}"
ANY_TEXT = "attribute_exists(pk)"

STORE_CONDITIONS: dict[str, tuple[str, Change, Any, Callable[[Any], Any]]] = {
    "T1: the record is not in the lot": (
        "transact_write_items",
        put_of("lot#"),
        contract.test_t1_does_not_replace_a_parked_record,
        quarantined,
    ),
    "T1: the gate is not there": (
        "transact_write_items",
        put_of("gate#"),
        contract.test_t1_does_not_replace_a_gate,
        held,
    ),
    "T2: no record is in the lot": (
        "transact_write_items",
        put_of("lot#"),
        contract.test_t2_names_the_records_that_are_there_and_writes_nothing,
        quarantined,
    ),
    "T2, I1: the gate is there": (
        "transact_write_items",
        gate_need_not_exist,
        contract.test_t2_parks_nothing_without_a_gate,
        empty,
    ),
    "T2, I2: the version moves": (
        "transact_write_items",
        version_stays,
        contract.test_t2_parks_behind_and_moves_the_version,
        quarantined,
    ),
    "T1, T2: the owner check": (
        "transact_write_items",
        no_owner_check,
        contract.test_who_does_not_own_the_lease_parks_nothing,
        quarantined,
    ),
    "R1: the gate is there": (
        "update_item",
        condition("attribute_exists(pk)", OR_TRUE, where="holder = :me"),
        contract.test_r1_needs_a_gate,
        empty,
    ),
    "R1: nobody holds the key": (
        "update_item",
        condition("attribute_not_exists(holder)", OR_TRUE),
        contract.test_r1_does_not_take_a_hold_that_lasts,
        held,
    ),
    "R1: or the hold ran out": (
        "update_item",
        condition("hold_until < :now", AND_FALSE),
        contract.test_r1_takes_a_hold_that_ran_out,
        held,
    ),
    "R3: the lifter holds the key": (
        "delete_item",
        condition("holder = :me", OR_TRUE),
        contract.test_r3_needs_the_hold,
        held,
    ),
    "R3: nothing was parked since": (
        "delete_item",
        condition("ver = :ver", OR_TRUE),
        contract.test_r3_needs_the_version_that_it_read,
        held,
    ),
    "R4: who extends holds the key": (
        "update_item",
        condition("holder = :me", OR_TRUE, where="SET hold_until"),
        contract.test_r4_needs_the_hold,
        held,
    ),
    "R6: it removes what it read": (
        "delete_item",
        condition("rev = :rev", OR_TRUE),
        contract.test_r6_does_not_remove_what_was_parked_since,
        held,
    ),
    "R6: it counts a failure of what it read": (
        "update_item",
        condition("rev = :rev", OR_TRUE),
        contract.test_r6_counts_a_failure,
        held,
    ),
    "R6: who gives the hold up has it": (
        "update_item",
        condition("holder = :me", OR_TRUE, where="REMOVE"),
        contract.test_r6_gives_the_hold_up,
        held,
    ),
}
"""Condition → the call and the change that takes it out, the test that fails, and its store."""


@pytest.mark.parametrize("name", STORE_CONDITIONS)
def test_on_a_table_the_contract_fails_without(name: str, dynamodb: DynamoDBParkingStore) -> None:
    operation, change, proof, prepared = STORE_CONDITIONS[name]
    store = prepared(dynamodb)
    client, dynamodb._client = dynamodb._client, Loose(dynamodb._client, operation, change)
    try:
        with pytest.raises(AssertionError):
            proof(store)
    finally:
        dynamodb._client = client


def _unowned(name: str) -> Callable[..., Any]:
    real = getattr(MemoryParkingStore, name)
    return lambda self, *args: real(self, *args[: 2 if name == "park_first" else 3])


def _without_gate(self: Any, consumer: str, hash_: str, *_: Any) -> bool:
    return True


def _yes(*_: Any) -> bool:
    return True


def _is_there(self: Any, at: Any, record: Any) -> bool:
    return record.place in self._lots.get(at, {})


def _free_only(self: Any, gate: Any, now_ms: int) -> bool:
    return gate.holder is None


def _forced(self: Any, consumer: str, hash_: str, holder: str, *until_ms: int) -> bool:
    at = (consumer, hash_)
    until = until_ms[0] if until_ms else None
    self._gates[at] = replace(self._gates[at], holder=holder, hold_until_ms=until)
    return True


IN_MEMORY: dict[str, tuple[str, Callable[..., Any]]] = {
    "T1: the record is not in the lot": ("_is_parked", lambda *_: False),
    "T1: the gate is not there": ("_has_gate", lambda *_: False),
    "T2: no record is in the lot": ("_is_parked", lambda *_: False),
    "T2, I1: the gate is there": ("_has_gate", lambda self, at: self._gates.setdefault(at, gate())),
    "T2, I2: the version moves": ("_bump", lambda *_: None),
    "T1, T2: the owner check": ("park_first", _unowned("park_first")),
    "R1: the gate is there": ("acquire", _without_gate),
    "R1: nobody holds the key": ("_is_free", _yes),
    "R1: or the hold ran out": ("_is_free", _free_only),
    "R3: the lifter holds the key": ("_holds", _yes),
    "R3: nothing was parked since": ("_is_at", _yes),
    "R4: who extends holds the key": ("extend", _forced),
    "R6: it removes what it read": ("_is_same", _is_there),
    "R6: it counts a failure of what it read": ("_is_same", _is_there),
    "R6: who gives the hold up has it": ("release", _forced),
}


@pytest.mark.parametrize("name", STORE_CONDITIONS)
def test_in_memory_the_contract_fails_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, proof, prepared = STORE_CONDITIONS[name]
    store = prepared(MemoryParkingStore(owns=lambda check: False))
    monkeypatch.setattr(MemoryParkingStore, *IN_MEMORY[name])
    with pytest.raises(AssertionError):
        proof(store)


def test_both_stores_are_tried_without_each() -> None:
    assert set(IN_MEMORY) == set(STORE_CONDITIONS)


@pytest.mark.parametrize("name", STORE_CONDITIONS)
def test_with_it_the_contract_holds(name: str) -> None:
    """Else the tests above would show nothing."""
    _, _, proof, prepared = STORE_CONDITIONS[name]
    proof(prepared(MemoryParkingStore(owns=lambda check: False)))


def test_p0_that_reads_one_page_is_caught(dynamodb: DynamoDBParkingStore) -> None:
    class OnePage(Loose):
        def __getattr__(self, name: str) -> Any:
            method = getattr(self._client, name)
            if name != "query":
                return method
            return lambda **request: {"Items": method(**request)["Items"]}

    client, dynamodb._client = dynamodb._client, OnePage(dynamodb._client, "", one_page)
    try:
        with pytest.raises(AssertionError):
            contract.test_every_page_of_gates_is_read(dynamodb)
    finally:
        dynamodb._client = client


def test_reads_that_are_not_consistent_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*args: Any, client: Any, **more: Any) -> Any:
        def eventual(request: dict[str, Any]) -> dict[str, Any]:
            return request | {"ConsistentRead": False}

        return DynamoDBParkingStore(*args, client=Loose(client, "query", eventual), **more)

    monkeypatch.setattr(on_dynamodb, "DynamoDBParkingStore", careless)
    with pytest.raises(AssertionError):
        on_dynamodb.test_every_read_is_consistent()


# --- conditions of the processor and of the redriver ------------------------------------------

INLINE = in_the_processor.Driver("inline")
Removal = Callable[[pytest.MonkeyPatch], None]


class _Deaf(set[str]):
    """A set of keys that nobody can be added to."""

    def add(self, key: str) -> None: ...


def starts_without_p0(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ParkingDesk, "quarantined_keys", lambda self: set())


def starts_after_a_failed_p0(patch: pytest.MonkeyPatch) -> None:
    def careless(batch: KeyedBatch, of: ParkingDesk) -> bool:
        try:
            batch.quarantined = of.quarantined_keys()
        except StoreUnavailable:
            batch.quarantined = set()
        return True

    patch.setattr(invocation, "_knows_quarantine", careless)


def gives_up_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(desk, "patiently", lambda call, *_: call())
    patch.setattr(redrive, "patiently", lambda call, *_: call())


def forgets_to_mark_the_key(patch: pytest.MonkeyPatch) -> None:
    real = ParkingDesk.quarantined_keys
    patch.setattr(ParkingDesk, "quarantined_keys", lambda self: _Deaf(real(self)))


def gate_exists_counts_as_parked(patch: pytest.MonkeyPatch) -> None:
    real = ParkingDesk.park_first

    def careless(self: ParkingDesk, *args: Any) -> First:
        answer = real(self, *args)
        return First.PARKED if answer is First.GATE_EXISTS else answer

    patch.setattr(ParkingDesk, "park_first", careless)


def replays_end_t2(patch: pytest.MonkeyPatch) -> None:
    real = ParkingDesk.park_behind

    def careless(self: ParkingDesk, records: Any, *more: Any) -> Settled:
        store = self._store

        class Once:
            def __getattr__(self, name: str) -> Any:
                return getattr(store, name)

            def park_behind(self, *args: Any) -> Any:
                return store.park_behind(*args)._replace(already_parked=())

        self._store = Once()
        try:
            return real(self, records, *more)
        finally:
            self._store = store

    patch.setattr(ParkingDesk, "park_behind", careless)


def lifted_counts_as_parked(patch: pytest.MonkeyPatch) -> None:
    real = ParkingDesk.park_behind

    def careless(self: ParkingDesk, records: Any, *more: Any) -> Settled:
        real(self, records, *more)
        return Settled(tuple(range(len(records))), lifted=False)

    patch.setattr(ParkingDesk, "park_behind", careless)


def parked_out_of_order(patch: pytest.MonkeyPatch) -> None:
    real = ParkingDesk.park_behind

    def last_only(self: ParkingDesk, records: Any, *more: Any) -> Settled:
        if real(self, records[-1:], *more).lifted:
            return Settled((), lifted=True)
        return Settled((len(records) - 1,), lifted=False)

    patch.setattr(ParkingDesk, "park_behind", last_only)


def the_breaker_never_opens(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Breaker, "admits", lambda self, key: True)


def any_number_may_be_quarantined(patch: pytest.MonkeyPatch) -> None:
    admits = KeyedBatch._admits

    def unbounded(self: KeyedBatch, position: int, action: Any) -> bool:
        quarantined, self.quarantined = self.quarantined, set()
        try:
            return admits(self, position, action)
        finally:
            self.quarantined = quarantined

    patch.setattr(KeyedBatch, "_admits", unbounded)


def an_overrun_is_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("shardlane.drivers.threads.park_overrun", lambda *_: iter(()))


def who_overran_is_always_parked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("shardlane.drivers.overrun.FAIR_SHARE", 0.0)


def a_hold_as_long_as_the_time_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(redrive, "CLOCK_SKEW_MS", 0)


def runs_without_asking_for_its_hold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Redriver, "_extended", _yes)


def lifts_whatever_the_version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryParkingStore, "_is_at", _yes)


def lifts_at_the_version_of_now(patch: pytest.MonkeyPatch) -> None:
    """As if the version were read after the lot."""
    real = MemoryParkingStore.lift

    def lift(self: Any, consumer: str, hash_: str, holder: str, version: int) -> bool:
        found = self.gate(consumer, hash_)
        return real(self, consumer, hash_, holder, found.version if found else version)

    patch.setattr(MemoryParkingStore, "lift", lift)


def thinks_that_it_holds_every_key(patch: pytest.MonkeyPatch) -> None:
    """R2 without its comparison: it goes round and round, so the rounds are counted."""
    real, rounds = MemoryParkingStore.gate, iter(range(100))

    def mine(self: Any, consumer: str, hash_: str) -> Any:
        assert next(rounds, None) is not None, "it never ends"
        found = real(self, consumer, hash_)
        return found and replace(found, holder="me")

    patch.setattr(MemoryParkingStore, "gate", mine)


def every_redrive_is_run(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(redrive_marker, "check_hold", lambda *_: None)


def a_redrive_tries_as_often_as_its_policy(patch: pytest.MonkeyPatch) -> None:
    policies = Policies(FailurePolicy.stop(attempts=3, backoff=Backoff(0, 1, 0)))
    patch.setattr(invocation, "_REDRIVE_POLICIES", policies)


def a_redrive_looks_like_a_batch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(invocation, "_is_redriven", lambda *_: False)


def a_handled_record_stays_in_the_lot(patch: pytest.MonkeyPatch) -> None:
    """R6 without its deletion; the rounds are counted."""
    rounds = iter(range(100))

    def stays(*_: Any) -> bool:
        assert next(rounds, None) is not None, "it never ends"
        return True

    patch.setattr(MemoryParkingStore, "remove", stays)


def a_failure_keeps_the_hold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryParkingStore, "release", _yes)


def an_unknown_end_gives_the_hold_up(patch: pytest.MonkeyPatch) -> None:
    stopped = Redriver._stopped

    def careless(self: Redriver, marker: Any, *more: Any) -> Any:
        self._store.release(marker.consumer, marker.key_hash, marker.holder)
        return stopped(self, marker, *more)

    patch.setattr(Redriver, "_stopped", careless)


def everything_counts_as_an_attempt(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(redrive._ENDS, Answer.NOT_RUN, redrive.End.FAILED)


def with_memory(test: Callable[..., None]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: test(INLINE, MemoryParkingStore())


def inline(test: Callable[..., None]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: test(INLINE)


def clocked(test: Callable[..., None], *args: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: test(*args, clock=SteppedClock())


CONDITIONS: dict[str, tuple[Removal, Callable[[pytest.MonkeyPatch], None]]] = {
    "P0 is read": (
        starts_without_p0,
        with_memory(in_the_processor.test_a_quarantined_key_is_not_handled),
    ),
    "P0 failed: nothing starts": (
        starts_after_a_failed_p0,
        lambda patch: (
            in_the_processor.test_the_quarantine_is_asked_for_until_the_margin_and_not_given_up_before()
        ),
    ),
    "P0 is repeated until the margin": (
        gives_up_at_once,
        lambda patch: (
            in_the_processor.test_the_quarantine_is_asked_for_until_the_margin_and_not_given_up_before()
        ),
    ),
    "T1 cancelled by the lot: the key is marked": (
        forgets_to_mark_the_key,
        inline(in_the_processor.test_a_record_that_is_in_the_lot_already_quarantines_its_key),
    ),
    "T1 cancelled by the gate: T2": (
        gate_exists_counts_as_parked,
        inline(in_the_processor.test_a_gate_that_somebody_else_made_quarantines_the_key),
    ),
    "T2: replays are dropped and the rest repeated": (
        replays_end_t2,
        lambda patch: on_the_desk.test_replays_count_as_settled(),
    ),
    "T2 without a gate: the records run": (
        lifted_counts_as_parked,
        inline(in_the_processor.test_a_quarantine_lifted_meanwhile_lets_the_records_run_in_order),
    ),
    "T2 takes the key's next records in order": (
        parked_out_of_order,
        lambda patch: (
            on_the_desk.test_a_transaction_takes_as_many_bytes_as_fit_and_at_least_one_record()
        ),
    ),
    "the breaker": (
        the_breaker_never_opens,
        with_memory(in_the_processor.test_an_outage_parks_no_more_than_the_breaker_lets),
    ),
    "the bound on quarantined keys": (
        any_number_may_be_quarantined,
        with_memory(in_the_processor.test_nothing_new_is_parked_when_many_keys_are_quarantined),
    ),
    "a handler that overran is parked": (
        an_overrun_is_left,
        lambda patch: in_the_processor.test_a_handler_that_hangs_is_parked_with_the_reason(
            "thread", 1, MemoryParkingStore()
        ),
    ),
    "a handler that started late is not": (
        who_overran_is_always_parked,
        lambda patch: (
            in_the_processor.test_a_handler_that_started_late_is_delivered_again_and_not_parked(
                MemoryParkingStore()
            )
        ),
    ),
    "R1: the hold outlasts the time-out": (
        a_hold_as_long_as_the_time_out,
        clocked(in_a_redrive.test_the_hold_outlasts_the_consumers_time_out),
    ),
    "R2: who lost the hold ends": (
        thinks_that_it_holds_every_key,
        clocked(in_a_redrive.test_who_lost_the_hold_stops, "lift"),
    ),
    "R2: the version is read before the lot": (
        lifts_at_the_version_of_now,
        clocked(in_a_redrive.test_a_record_parked_between_the_two_reads_is_redriven_too),
    ),
    "R3: LIFT compares the version": (
        lifts_whatever_the_version,
        clocked(in_a_redrive.test_a_record_parked_behind_at_the_last_moment_is_redriven_too),
    ),
    "R4: each record needs the hold": (
        runs_without_asking_for_its_hold,
        clocked(in_a_redrive.test_who_lost_the_hold_stops, "parked"),
    ),
    "R5: one attempt under STOP": (
        a_redrive_tries_as_often_as_its_policy,
        clocked(in_a_redrive.test_it_stops_at_the_first_record_that_fails_again),
    ),
    "R5: P0 is skipped": (
        a_redrive_looks_like_a_batch,
        clocked(in_a_redrive.test_a_key_is_redriven_in_order_and_its_quarantine_lifted),
    ),
    "R6: what was handled leaves the lot": (
        a_handled_record_stays_in_the_lot,
        clocked(in_a_redrive.test_a_key_is_redriven_in_order_and_its_quarantine_lifted),
    ),
    "R6: a failure gives the hold up": (
        a_failure_keeps_the_hold,
        clocked(in_a_redrive.test_it_stops_at_the_first_record_that_fails_again),
    ),
    "R6: an unknown end keeps it": (
        an_unknown_end_gives_the_hold_up,
        clocked(in_a_redrive.test_an_unknown_end_keeps_the_hold),
    ),
    "R6: only a run counts as an attempt": (
        everything_counts_as_an_attempt,
        clocked(in_a_redrive.test_a_record_that_was_not_run_counts_no_attempt),
    ),
}
"""Condition → what takes it out, and the test that fails."""


@pytest.mark.parametrize("name", CONDITIONS)
def test_its_test_fails_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remove, proof = CONDITIONS[name]
    proof(monkeypatch)  # with the condition it passes
    remove(monkeypatch)
    with pytest.raises(AssertionError):
        proof(monkeypatch)


REFUSALS = {
    "of another consumer": (redrive_marker.RedriveMarker("shipping", ALICE, "me"), 1),
    "of another key": (redrive_marker.RedriveMarker(CONSUMER, "0" * 64, "me"), 1),
    "of another holder": (redrive_marker.RedriveMarker(CONSUMER, ALICE, "other"), 1),
    "whose hold ends before": (redrive_marker.RedriveMarker(CONSUMER, ALICE, "me"), 5_001),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_consumer_that_runs_every_redrive_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, left_ms = REFUSALS[name]
    every_redrive_is_run(monkeypatch)
    with pytest.raises(AssertionError):
        in_a_redrive.test_a_redrive_that_does_not_hold_the_key_is_refused(
            marker, left_ms, "", SteppedClock()
        )
