from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane import Backoff, Drop, FailurePolicy, Park, SettingsError
from shardlane.policy import MOST_REASON_CHARACTERS, Action, Policies, Verdict, reason_of


def test_attempts_are_bounded_and_then_the_policy_acts() -> None:
    policies = Policies(FailurePolicy.stop(attempts=3, backoff=Backoff(first_ms=100)))
    error = OSError("down")
    assert policies.judge(error, 1, 0.5) == Verdict(Action.RETRY, "OSError: down", 50.0)
    assert policies.judge(error, 2, 0.5) == Verdict(Action.RETRY, "OSError: down", 100.0)
    assert policies.judge(error, 3, 0.5) == Verdict(Action.STOP, "OSError: down")


def test_a_handlers_drop_settles_at_once() -> None:
    policies = Policies(FailurePolicy.stop(attempts=3))
    assert policies.judge(Drop("obsolete"), 1, 0.5) == Verdict(Action.DROP, "obsolete")


def test_a_handlers_park_takes_no_more_attempts() -> None:
    verdict = Policies(FailurePolicy.stop(attempts=3)).judge(Park("by hand"), 1, 0.5)
    assert verdict.action is Action.STOP


def test_the_nearest_class_decides() -> None:
    policies = Policies(
        {
            Exception: FailurePolicy.stop(),
            ValueError: FailurePolicy.drop(),
            json.JSONDecodeError: FailurePolicy.stop(attempts=2),
        }
    )
    assert policies.of(UnicodeError()).action is Action.DROP
    assert policies.of(json.JSONDecodeError("", "", 0)).attempts == 2
    assert policies.of(KeyError()).attempts == 1
    assert policies.of(KeyError()).action is Action.STOP


def test_a_mapping_needs_a_default() -> None:
    with pytest.raises(SettingsError, match="entry for Exception"):
        Policies({ValueError: FailurePolicy.drop()})


@pytest.mark.parametrize("attempts", [0, -1])
def test_at_least_one_attempt(attempts: int) -> None:
    with pytest.raises(SettingsError, match="1 or more"):
        FailurePolicy.stop(attempts=attempts)


@pytest.mark.parametrize("signal", [Drop, Park])
def test_a_signal_needs_a_reason(signal: type[Drop] | type[Park]) -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        signal("")


def test_a_reason_is_one_short_line() -> None:
    assert reason_of(ValueError()) == "ValueError"
    assert reason_of(ValueError("a\n  b")) == "ValueError: a b"
    assert len(reason_of(ValueError("x" * 10_000))) == MOST_REASON_CHARACTERS


@pytest.mark.parametrize("signal", [Drop, Park])
def test_a_signals_reason_fits_into_a_lot_whatever_was_passed(
    signal: type[Drop] | type[Park],
) -> None:
    """An item holds 400 KB, and text: a reason that does not fit would keep its record from being
    parked for ever."""
    judge = Policies(FailurePolicy.stop()).judge
    long = judge(signal("x" * 500_000), 1, 0.5).reason
    assert len(long) <= MOST_REASON_CHARACTERS + len("to be parked, but there is no lot: ")
    odd: Any = ValueError("no\nsuch order")
    assert judge(signal(odd), 1, 0.5).reason.endswith("no such order")
