"""Two hundred random histories of a fleet keep the delivery contract, checked at every event."""

from __future__ import annotations

import pytest

from tests.sim.history import drawn
from tests.sim.report import breach_of
from tests.sim.world import play

SEEDS = 200
BLOCK = 20


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_random_histories_keep_the_contract(first: int) -> None:
    for seed in range(first, first + BLOCK):
        breach = breach_of(drawn(seed))
        assert breach is None, breach


FOUND = {
    17281: "a process starts 60 ms after another of its machine: reads of both in one second",
    18354: "a new owner confirms its lease at once, and the old one has just written a checkpoint",
}
"""Of many more seeds: those that showed something."""


@pytest.mark.parametrize("seed", FOUND, ids=FOUND.get)
def test_a_history_that_was_found_keeps_the_contract(seed: int) -> None:
    breach = breach_of(drawn(seed))
    assert breach is None, breach


def test_the_same_seed_plays_the_same_history() -> None:
    assert play(drawn(7)) == play(drawn(7))


def test_histories_have_a_bit_of_everything() -> None:
    """Else the others would say little."""
    histories = [drawn(seed) for seed in range(SEEDS)]
    kinds = {event.kind for history in histories for event in history.events}
    assert kinds >= {"crash", "freeze", "cut", "storm", "split", "merge", "seek", "stop", "burst"}
    assert {history.setting.fan_out for history in histories} == {True, False}
    assert {history.setting.plan for history in histories} == {"loop", "keyed", "pool", "batches"}
    results = [play(history) for history in histories[:30]]
    assert sum(result.duplicates > 0 for result in results) >= 5
    assert sum(result.leases_lost > 0 for result in results) >= 5
    assert sum(result.parkings > 0 for result in results) >= 3
    assert sum(result.handed_over > 0 for result in results) >= 10
