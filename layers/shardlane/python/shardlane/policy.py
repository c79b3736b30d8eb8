"""What becomes of a record whose handler failed: bounded attempts, then stop, park or drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from shardlane.backoff import Backoff
from shardlane.errors import SettingsError
from shardlane.outcome import Drop, Park

if TYPE_CHECKING:
    from shardlane.parking.lot import ParkingLot

MOST_REASON_CHARACTERS = 300
"""A reason is for reading in a log line or a table; a stack of a thousand frames is not."""


class Action(Enum):
    """The end of a record that failed for good, and ``RETRY`` on the way there."""

    RETRY = "retry"
    STOP = "stop"
    PARK = "park"
    DROP = "drop"


class Verdict(NamedTuple):
    """What is to be done about one failed attempt."""

    action: Action
    reason: str
    wait_ms: float = 0.0
    """Before the next attempt, if the action is ``RETRY``."""


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """Made by ``stop``, ``park`` or ``drop``. ``attempts`` counts the first one."""

    action: Action
    attempts: int
    backoff: Backoff
    lot: ParkingLot | None = None
    max_new_keys: int | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise SettingsError(f"attempts={self.attempts}: allowed is 1 or more")
        if self.max_new_keys is not None and self.max_new_keys < 0:
            raise SettingsError(f"max_new_keys={self.max_new_keys}: allowed is 0 or more")

    @classmethod
    def stop(cls, attempts: int = 1, backoff: Backoff = Backoff()) -> FailurePolicy:  # noqa: B008
        """Leave the record unfinished: Lambda delivers it and all later ones again."""
        return cls(Action.STOP, attempts, backoff)

    @classmethod
    def park(
        cls,
        lot: ParkingLot,
        attempts: int = 3,
        backoff: Backoff = Backoff(),  # noqa: B008
        max_new_keys: int | None = None,
    ) -> FailurePolicy:
        """Put the record into ``lot`` and quarantine its key, so that only this key waits.

        ``max_new_keys``: how many keys of one invocation may fail before it looks like an outage
        and the policy is ``stop``; default the larger of 5 and 30 % of its keys.
        """
        return cls(Action.PARK, attempts, backoff, lot, max_new_keys)

    @classmethod
    def drop(cls, attempts: int = 1, backoff: Backoff = Backoff()) -> FailurePolicy:  # noqa: B008
        """Forget the record, counted and logged."""
        return cls(Action.DROP, attempts, backoff)


OnFailure = FailurePolicy | Mapping[type[Exception], FailurePolicy]
"""One policy, or one for each exception class, of which ``Exception`` is the default."""


class Policies:
    """The policies of one processor, looked up by the nearest class of an exception."""

    def __init__(self, on_failure: OnFailure) -> None:
        if isinstance(on_failure, FailurePolicy):
            on_failure = {Exception: on_failure}
        if Exception not in on_failure:
            raise SettingsError(
                "on_failure has no default: add an entry for Exception to the mapping"
            )
        self._by_class = dict(on_failure)
        parking = [each for each in self._by_class.values() if each.lot is not None]
        if len({id(each.lot) for each in parking}) > 1:
            raise SettingsError("on_failure parks in several lots: a processor has one")
        self.lot = parking[0].lot if parking else None
        self.gives_up = any(
            each.action in (Action.PARK, Action.DROP) for each in self._by_class.values()
        )
        """Whether a record may be settled without having been handled."""
        bounds = [each.max_new_keys for each in parking if each.max_new_keys is not None]
        self.max_new_keys = min(bounds, default=None)

    def of(self, error: Exception) -> FailurePolicy:
        return next(self._by_class[each] for each in type(error).__mro__ if each in self._by_class)

    def judge(self, error: Exception, failures: int, draw: float) -> Verdict:
        """The verdict on the ``failures``-th failed attempt (1, 2, …) of a record.

        ``draw`` is random in [0, 1), for the wait.
        """
        if isinstance(error, Drop):
            return Verdict(Action.DROP, _line(error.reason))
        if isinstance(error, Park):
            reason = _line(error.reason)
            if self.lot is None:
                return Verdict(Action.STOP, f"to be parked, but there is no lot: {reason}")
            return Verdict(Action.PARK, reason)
        policy = self.of(error)
        if failures < policy.attempts:
            return Verdict(Action.RETRY, reason_of(error), policy.backoff.wait_ms(failures, draw))
        return self.final(error)

    def final(self, error: Exception) -> Verdict:
        """The verdict on an error that allows no further attempt."""
        return Verdict(self.of(error).action, reason_of(error))


def reason_of(error: BaseException) -> str:
    """One line about an error, short enough for a log."""
    text, name = _line(error), type(error).__name__
    return _line(f"{name}: {text}" if text else name)


def _line(said: object) -> str:
    """One short line, whatever was said: a reason that is no text, or too long for the lot's
    table, must not keep its record from being parked."""
    try:
        line = " ".join(str(said).split())
    except Exception as error:  # somebody else's __str__
        line = f"{type(error).__name__} when it was asked what it says"
    return line if len(line) <= MOST_REASON_CHARACTERS else line[: MOST_REASON_CHARACTERS - 1] + "…"
