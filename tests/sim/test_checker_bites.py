"""The checker finds bugs: each one here, put into the consumer, breaks a random history."""

from __future__ import annotations

import pytest

from tests.sim.bugs import BUGS, Bug
from tests.sim.history import drawn
from tests.sim.shrink import shrunk
from tests.sim.world import play

MOST_SEEDS = 150


def first_breaking(seeds: range) -> int | None:
    return next((seed for seed in seeds if play(drawn(seed)).breach is not None), None)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_checker_finds(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert first_breaking(range(MOST_SEEDS)) is not None


def test_a_breaking_history_is_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[0](monkeypatch)
    seed = first_breaking(range(MOST_SEEDS))
    assert seed is not None
    history = drawn(seed)
    shortest = shrunk(history, lambda each: play(each).breach is not None)
    assert play(shortest).breach is not None
    assert len(shortest.events) < len(history.events)
