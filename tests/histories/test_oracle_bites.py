"""The oracle finds bugs: each one here, put into the processor, breaks a random history."""

from __future__ import annotations

import logging

import pytest

from tests.histories.bugs import BUGS, SEARCHED_FROM, Bug
from tests.histories.history import drawn
from tests.histories.report import breach_of
from tests.histories.world import play

MOST_SEEDS = 150


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def first_breaking(seeds: range) -> int | None:
    return next((seed for seed in seeds if play(drawn(seed)).breaches), None)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_oracle_finds(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    first = SEARCHED_FROM.get(bug, 0)
    assert first_breaking(range(first, first + MOST_SEEDS)) is not None


def test_a_breach_comes_with_its_seed_and_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[0](monkeypatch)
    seed = first_breaking(range(MOST_SEEDS))
    assert seed is not None
    report = breach_of(drawn(seed))
    assert report is not None
    assert f"seed {seed}" in report
    assert "starts before" in report
    assert "BREACH" in report
