"""Effects carried out where they are asked for."""

from __future__ import annotations

from typing import Any

from shardlane.attempt import Call, attempt
from shardlane.errors import ParkingError
from shardlane.steps import Ask, Effects, Run


def ask(effect: Ask) -> Any:
    """The store's answer, or the ``ParkingError`` that it raised."""
    try:
        return effect.call()
    except ParkingError as error:
        return error


def perform(effect: Run | Ask, call: Call) -> Any:
    return attempt(call, effect.record) if isinstance(effect, Run) else ask(effect)


def carry_out(effects: Effects, call: Call) -> None:
    """All effects, one after the other, on this thread."""
    answer = None
    while (effect := following(effects, answer)) is not None:
        answer = perform(effect, call)


def following(effects: Effects, answer: Any) -> Run | Ask | None:
    """The next effect after ``answer`` to the one before (None at first), or None at the end."""
    try:
        return effects.send(answer)
    except StopIteration:
        return None
