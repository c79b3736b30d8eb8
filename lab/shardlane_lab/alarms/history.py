"""The states that an alarm goes through, period by period. Pure: values in, states out.

Source: "Evaluating an alarm" and "Configuring how CloudWatch alarms treat missing data", CloudWatch
User Guide. The service also looks at a few periods before the last ones when data is missing;
here a period without data counts as the rule says and nothing more is looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

Missing = Literal["breaching", "notBreaching", "ignore", "missing"]

_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


class State(Enum):
    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"
    """Also an alarm's first state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRule:
    """Of the last ``of_last`` periods, ``breaching`` have to be over the threshold."""

    comparison: str
    """CloudFormation's ``ComparisonOperator``."""
    threshold: float
    breaching: int = 1
    of_last: int = 1
    missing: Missing = "missing"

    def __post_init__(self) -> None:
        if self.comparison not in _HOLDS:
            raise ValueError(
                f"comparison is {self.comparison!r}; allowed: {', '.join(sorted(_HOLDS))}"
            )
        if not 1 <= self.breaching <= self.of_last:
            raise ValueError(
                f"breaching is {self.breaching} of {self.of_last}; allowed: 1 to {self.of_last}"
            )

    def state(self, values: Sequence[float | None], before: State) -> State:
        """After the last of ``values``, one for each period, ``None`` without data; ``before`` is
        the state until then."""
        window = [self._breaches(value) for value in values[-self.of_last :]]
        known = [each for each in window if each is not None]
        if not known:
            return before if self.missing == "ignore" else State.INSUFFICIENT_DATA
        if known.count(True) >= self.breaching:
            return State.ALARM
        return State.OK

    def _breaches(self, value: float | None) -> bool | None:
        if value is not None:
            return _HOLDS[self.comparison](value, self.threshold)
        if self.missing in ("breaching", "notBreaching"):
            return self.missing == "breaching"
        return None


def history(rule: AlarmRule, values: Sequence[float | None]) -> list[State]:
    """The state after each period."""
    states: list[State] = []
    state = State.INSUFFICIENT_DATA
    for end in range(1, len(values) + 1):
        state = rule.state(values[:end], state)
        states.append(state)
    return states
