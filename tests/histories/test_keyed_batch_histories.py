"""Three hundred random histories of a function and its mapping keep the delivery contract."""

from __future__ import annotations

import logging
from dataclasses import fields, replace

import pytest

from shardlane_lab.local_lambda.mapping_config import Undocumented
from tests.histories.history import Deed, Fault, History, Policy, Put, Setting, drawn, shrunk
from tests.histories.report import breach_of
from tests.histories.world import Played, play

SEEDS = 300
BLOCK = 20


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_random_histories_keep_the_contract(first: int) -> None:
    for seed in range(first, first + BLOCK):
        breach = breach_of(drawn(seed))
        assert breach is None, breach


@pytest.mark.parametrize("seed", range(30))
def test_on_real_threads_they_do_too(seed: int) -> None:
    history = drawn(seed)
    setting = replace(history.setting, handler="threads")
    played = play(replace(history, setting=setting))
    assert played.breaches == (), "\n".join(played.trace)


def test_the_same_seed_plays_the_same_history() -> None:
    assert play(drawn(7)) == play(drawn(7))


def test_histories_have_a_bit_of_everything() -> None:
    """Else the others would say little."""
    histories = [drawn(seed) for seed in range(SEEDS)]
    settings = [history.setting for history in histories]
    assert {each.policy.action for each in settings} == {"stop", "park", "drop"}
    assert {bool(each.policy.by_kind) for each in settings} == {True, False}
    for name in ("shards", "source", "factor", "bisect", "concurrency", "handler", "window_s"):
        assert len({getattr(each, name) for each in settings}) > 1, name
    for each in fields(Undocumented):
        if not each.name.startswith("retry_"):  # a pace, not an answer
            answers = {getattr(setting.undocumented, each.name) for setting in settings}
            assert len(answers) == 2, each.name
    events = [event for history in histories for event in history.events]
    assert {each.kind for each in events if isinstance(each, Deed)} == {
        "split",
        "restart",
        "redrive",
    }
    assert {(each.kind, each.late) for each in events if isinstance(each, Fault)} == {
        (kind, late) for kind in ("crash", "throttle") for late in (False, True)
    }
    assert any(len(each.keys) > 1 for each in events if isinstance(each, Put))


def test_much_of_it_happens() -> None:
    played = [play(drawn(seed)) for seed in range(30)]
    for name in ("dropped", "given_up", "parked", "duplicates", "crashes", "throttles"):
        assert sum(getattr(each, name) > 0 for each in played) >= 2, name


# A crash at every store call of one history

PARKED_AND_REDRIVEN = History(
    seed=0,
    setting=Setting(batch_size=6, policy=Policy("park", attempts=1), handler="async", workers=2),
    events=(
        Put(0.0, ("a",), ("value",)),
        Put(0.0, ("b",)),
        Put(0.0, ("a",)),
        Put(0.0, ("b",), ("value", "value")),
        Put(0.0, ("a",)),
        Put(2.0, ("b",)),
        Put(2.0, ("a",), ("value",)),
        Deed(4.0, "redrive"),
        Put(5.0, ("a",)),
        Put(5.0, ("b",)),
    ),
)


def with_fault(number: int, *, late: bool) -> Played:
    fault = Fault(number, "crash", late)
    return play(replace(PARKED_AND_REDRIVEN, events=(*PARKED_AND_REDRIVEN.events, fault)))


def test_the_history_without_a_crash_handles_each_record_once() -> None:
    played = play(PARKED_AND_REDRIVEN)
    assert played.breaches == ()
    assert (played.records, played.handled, played.duplicates) == (9, 9, 0)
    assert played.parked >= 4


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_crash_at_any_store_call_breaks_nothing(late: bool) -> None:
    calls = play(PARKED_AND_REDRIVEN).store_calls
    assert calls > 25
    for number in range(calls):
        played = with_fault(number, late=late)
        assert played.crashes == 1, number
        assert played.breaches == (), f"call {number}: {played.breaches}"
        assert played.handled == played.records


def test_a_breaking_history_is_made_shorter() -> None:
    history = drawn(5)
    lengths = [len(history.events), 0]
    shortest = shrunk(history, lambda each: any(isinstance(event, Put) for event in each.events))
    lengths[1] = len(shortest.events)
    assert lengths[1] == 1 < lengths[0]
