"""Random histories of parking and redriving under crashes, zombies, throttles and holds that run
out: the delivery contract holds in all of them, and not without any one of its conditions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from shardlane.parking import desk
from shardlane.parking.answers import Behind, First
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.memory_store import MemoryParkingStore
from tests.flows.lambda_batch.parking_world import (
    CALM,
    CROWD,
    FIRE,
    STORM,
    Weather,
    World,
    played,
)


def history(seed: int, weather: Weather, store: Any = None, *, records: int = 24) -> list[str]:
    store = store if store is not None else MemoryParkingStore()
    with played(World(Random(seed), store, weather, records=records)) as broken:
        return broken


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


@pytest.mark.parametrize("seed", range(60))
def test_in_a_storm_no_promise_is_broken(seed: int) -> None:
    assert history(seed, STORM) == []


@pytest.mark.parametrize("seed", range(40))
def test_redrives_that_die_repeat_that_one_record_and_no_other(seed: int) -> None:
    assert history(seed, FIRE) == []


def test_redrives_die_where_it_matters() -> None:
    """Else the test above would say little."""
    worlds = [World(Random(seed), MemoryParkingStore(), FIRE) for seed in range(20)]
    for world in worlds:
        with played(world):
            pass
    assert sum(sum(world.cut_short.values()) for world in worlds) >= 3


@pytest.mark.parametrize("seed", range(30))
def test_in_a_crowd_no_promise_is_broken(seed: int) -> None:
    assert history(seed, CROWD) == []


@pytest.mark.parametrize("seed", range(20))
def test_in_a_calm_every_record_is_handled_once(seed: int) -> None:
    assert history(seed, CALM) == []


@pytest.mark.parametrize("weather", [STORM, FIRE], ids=["storm", "fire"])
@pytest.mark.parametrize("seed", range(10))
def test_on_a_dynamodb_table_no_promise_is_broken(
    seed: int, weather: Weather, dynamodb: DynamoDBParkingStore
) -> None:
    assert history(seed, weather, dynamodb, records=6) == []


# Without any one condition some history breaks a promise. The conditions that guard against what
# cannot be seen from outside (who lifts, who extends, whose ``rev``) have tests of their own in
# the stores' contract and in the redriver's tests.


class AnyVersionLifts(MemoryParkingStore):
    def _is_at(self, at: Any, version: int) -> bool:
        return True


class NoVersionMoves(MemoryParkingStore):
    def _bump(self, at: Any, count: int) -> None: ...


class EveryHoldIsFree(MemoryParkingStore):
    def _is_free(self, gate: Any, now_ms: int) -> bool:
        return True


class GateIsReplaced(MemoryParkingStore):
    def park_first(self, gate: Any, record: Any, owner: Any = None) -> First:
        self._gates.pop((gate.consumer, gate.key_hash), None)
        return super().park_first(gate, record, owner)


class ParksBehindNoGate(MemoryParkingStore):
    def park_behind(self, consumer: str, hash_: str, records: Any, owner: Any = None) -> Behind:
        answer = super().park_behind(consumer, hash_, records, owner)
        if answer.gate_missing:
            lot = self._lots.setdefault((consumer, hash_), {})
            lot |= {record.place: record for record in records}
            return Behind()
        return answer


@pytest.mark.parametrize(
    ("store", "weather"),
    [
        (AnyVersionLifts, CROWD),
        (NoVersionMoves, CROWD),
        (EveryHoldIsFree, CROWD),
        (ParksBehindNoGate, CROWD),
        (GateIsReplaced, STORM),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_store_without_one_condition_is_caught(
    store: Callable[[], MemoryParkingStore], weather: Weather
) -> None:
    assert _caught(lambda seed: history(seed, weather, store()))


class Deaf(set[str]):
    """A set of keys that nobody can be added to."""

    def add(self, key: str) -> None: ...


def test_forgetting_to_mark_a_key_as_quarantined_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = desk.ParkingDesk.quarantined_keys
    monkeypatch.setattr(desk.ParkingDesk, "quarantined_keys", lambda self: Deaf(real(self)))
    assert _caught(lambda seed: history(seed, STORM))


def test_taking_a_lifted_quarantine_for_parked_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = desk.ParkingDesk.park_behind

    def careless(self: desk.ParkingDesk, records: Any, *more: Any) -> desk.Settled:
        real(self, records, *more)
        return desk.Settled(tuple(range(len(records))), lifted=False)

    monkeypatch.setattr(desk.ParkingDesk, "park_behind", careless)
    assert _caught(lambda seed: history(seed, CROWD))


def test_a_redrive_that_forgets_to_remove_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then: what was handled stays in the lot, and runs again although nobody died."""
    real, calls = MemoryParkingStore.remove, iter(range(10**6))
    monkeypatch.setattr(
        MemoryParkingStore,
        "remove",
        lambda self, record: True if next(calls) % 4 == 3 else real(self, record),
    )
    assert _caught(lambda seed: history(seed, FIRE))


def test_starting_without_the_quarantine_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.ParkingDesk, "quarantined_keys", lambda self: set())
    assert _caught(lambda seed: history(seed, STORM))


def _caught(play: Callable[[int], list[str]]) -> bool:
    return any(play(seed) for seed in range(400))
