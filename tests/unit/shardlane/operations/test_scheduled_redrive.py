"""When the scheduled redrive tries which key, and what a run says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from shardlane import SettingsError
from shardlane.errors import ParkingError, StoreUnavailable
from shardlane.operations.redrive_schedule import RedriveSchedule
from shardlane.operations.redrive_settings import RedriveSettings
from shardlane.operations.scheduled_redrive import TIME_IS_UP, RedriveRun, redrive_due, while_time
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import Answer, Redriver, Send, Sent
from tests.unit.shardlane.parking.lots import CONSUMER, gate, parked
from tests.unit.shardlane.stepped_clock import SteppedClock

PARKED_MS = 1_780_000_001_000


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [(0, 0), (1, 60), (2, 180), (3, 420), (4, 780), (5, 1_140)],
    ids=str,
)
def test_the_waits_double_up_to_the_longest_and_add_up(attempts: int, seconds: int) -> None:
    schedule = RedriveSchedule(first_s=60, longest_s=360)
    assert schedule.due_ms(parked(1, attempts=attempts)) == PARKED_MS + seconds * 1000


def test_ten_thousand_attempts_overflow_nothing() -> None:
    due_ms = RedriveSchedule(first_s=1, longest_s=10).due_ms(parked(1, attempts=10_000))
    assert due_ms == PARKED_MS + (1 + 2 + 4 + 8 + 9_996 * 10) * 1000


def test_a_schedule_that_cannot_be_is_refused() -> None:
    with pytest.raises(SettingsError, match="first_s=0"):
        RedriveSchedule(first_s=0)
    with pytest.raises(SettingsError, match="longest_s=5"):
        RedriveSchedule(first_s=6, longest_s=5)


class World:
    """Keys in a lot, and a consumer that fails for some of them."""

    def __init__(self, **attempts: int) -> None:
        self.store = MemoryParkingStore()
        self.clock = SteppedClock(PARKED_MS / 1000)
        self.answers: dict[str, Sent] = {}
        self.sent: list[str] = []
        for position, (key, count) in enumerate(attempts.items(), start=1):
            self.store.park_first(gate(key), parked(position, key, attempts=count))

    def send(self, entry: dict[str, Any]) -> Sent:
        key = entry["kinesis"]["partitionKey"]
        self.sent.append(key)
        return self.answers.get(key, Sent(Answer.HANDLED))

    def run(self, after_s: float, send: Send | None = None, has_time: Any = None) -> RedriveRun:
        self.clock.now_s = PARKED_MS / 1000 + after_s
        has_time = has_time or (lambda: True)
        redriver = Redriver(
            self.store, CONSUMER, send or self.send, timeout_ms=30_000, clock=self.clock
        )
        return redrive_due(
            self.store,
            CONSUMER,
            redriver,
            RedriveSchedule(first_s=60, longest_s=3_600),
            now_ms=self.clock.wall_ms(),
            has_time=has_time,
        )


def test_only_due_keys_are_tried_and_the_longest_due_first() -> None:
    world = World(late=3, early=1, middle=2)
    run = world.run(after_s=200)
    assert world.sent == ["early", "middle"]
    assert (run.parked_keys, run.due, run.lifted, run.handled, run.left) == (3, 2, 2, 2, 0)
    assert run.oldest_ms == PARKED_MS
    assert [each.key for each in world.store.gates(CONSUMER)] == ["late"]


def test_a_failure_puts_the_key_off_by_its_next_wait() -> None:
    world = World(alice=1)
    world.answers["alice"] = Sent(Answer.FAILED, "ValueError: still bad")
    (tried,) = world.run(after_s=60).tried
    assert (tried.key_hash, tried.end, tried.reason) == (
        key_hash("alice"),
        "failed",
        "ValueError: still bad",
    )
    assert world.run(after_s=179).due == 0
    assert world.run(after_s=180).due == 1


def test_a_key_that_cannot_be_redriven_does_not_hold_up_the_others() -> None:
    world = World(alice=1, bob=1)

    def send(entry: dict[str, Any]) -> Sent:
        if entry["kinesis"]["partitionKey"] == "alice":
            raise ParkingError("bucket payloads: gone")
        return world.send(entry)

    run = world.run(after_s=60, send=send)
    assert sorted(each.end for each in run.tried) == ["error", "lifted"]
    assert world.sent == ["bob"]


def test_a_table_that_does_not_answer_ends_the_run() -> None:
    world = World(alice=1)

    def send(entry: dict[str, Any]) -> Sent:
        raise StoreUnavailable("table: throttled")

    with pytest.raises(StoreUnavailable):
        world.run(after_s=60, send=send)


def test_without_time_no_key_is_begun_and_the_next_run_has_it() -> None:
    world = World(alice=1, bob=1)
    left = [True, False]
    run = world.run(after_s=60, has_time=lambda: left.pop(0))
    assert (len(run.tried), run.left) == (1, 1)
    assert world.run(after_s=60).lifted == 1


def test_a_key_is_let_go_between_two_records_when_the_time_is_up() -> None:
    world = World(alice=1)
    world.store.park_behind(CONSUMER, key_hash("alice"), [parked(7)])
    left = [True, False]
    run = world.run(after_s=60, send=while_time(world.send, lambda: left.pop(0)))
    (tried,) = run.tried
    assert (tried.end, tried.handled, tried.reason) == ("not run", 1, TIME_IS_UP)
    still = world.store.gate(CONSUMER, key_hash("alice"))
    assert still is not None
    assert still.holder is None
    assert [each.attempts for each in world.store.parked(CONSUMER, key_hash("alice"))] == [3]


def test_a_gate_without_records_is_lifted() -> None:
    world = World(alice=1)
    (record,) = world.store.parked(CONSUMER, key_hash("alice"))
    world.store.remove(record)
    assert world.run(after_s=0).lifted == 1


ENVIRON = {
    "PARKING_TABLE": "order-events-parking",
    "PARKING_CONSUMER": "billing",
    "PARKING_BUCKET": "order-events-payloads",
    "CONSUMER_FUNCTION": "billing:live",
    "CONSUMER_TIMEOUT_S": "30",
    "FIRST_WAIT_S": "120",
    "LONGEST_WAIT_S": "7200",
}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in ENVIRON.items() if name not in names}


def test_the_settings_are_read_from_the_variables_of_their_names() -> None:
    settings = RedriveSettings.from_environ(ENVIRON)
    assert {each.name.upper() for each in fields(settings)} == set(ENVIRON)
    assert settings == RedriveSettings(
        parking_table="order-events-parking",
        parking_consumer="billing",
        parking_bucket="order-events-payloads",
        consumer_function="billing:live",
        consumer_timeout_s=30,
        first_wait_s=120,
        longest_wait_s=7200,
    )
    assert settings.schedule == RedriveSchedule(first_s=120, longest_s=7200)


def test_what_is_not_set_has_a_default_or_is_asked_for() -> None:
    settings = RedriveSettings.from_environ(
        without("PARKING_BUCKET", "FIRST_WAIT_S", "LONGEST_WAIT_S")
    )
    assert (settings.parking_bucket, settings.first_wait_s, settings.longest_wait_s) == (
        None,
        60,
        21_600,
    )


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (without("PARKING_TABLE"), "PARKING_TABLE is not set"),
        (without("CONSUMER_TIMEOUT_S"), "CONSUMER_TIMEOUT_S is not set"),
        (ENVIRON | {"CONSUMER_FUNCTION": " "}, "CONSUMER_FUNCTION is not set"),
        (ENVIRON | {"CONSUMER_TIMEOUT_S": "901"}, "'901'; allowed: a whole number"),
        (ENVIRON | {"FIRST_WAIT_S": "1.5"}, "FIRST_WAIT_S is '1.5'"),
    ],
    ids=["no table", "no time-out", "blank function", "too long", "no whole number"],
)
def test_a_wrong_setting_is_named(environ: Mapping[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        RedriveSettings.from_environ(environ)
