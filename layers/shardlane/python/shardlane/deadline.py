"""When an invocation has to stop starting records, so that it can answer before its time-out."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

LEAST_MARGIN_MS, MOST_MARGIN_MS = 500.0, 5_000.0
"""The default margin is a tenth of the invocation's time within these: room for a parking write
and for the runtime to send the answer."""


class Deadline(NamedTuple):
    """Moments of one invocation on the monotonic clock, in seconds; infinite without a time-out."""

    start_s: float
    stop_s: float
    """From here on nothing more starts."""
    leave_s: float
    """From here on nothing that runs is waited for."""
    answer_s: float
    """By now the invocation answers: what overran may be parked until then."""

    @property
    def budget_s(self) -> float:
        """What a handler that starts first may take."""
        return self.leave_s - self.start_s


def remaining_ms(context: Any) -> float | None:
    """The time that Lambda's ``context`` says is left; None without a context, or with one that
    does not tell, as tests of handlers pass."""
    tell = getattr(context, "get_remaining_time_in_millis", None)
    return None if tell is None else float(tell())


def deadline_of(context: Any, margin_ms: float | None, now_s: float) -> Deadline:
    """The deadline that Lambda's ``context`` sets; there is none without one that tells its time.

    The margin never takes more than half of the time that is left: a record that is alone in its
    invocation must have a chance. Handlers that run get half of the margin to end.
    """
    left_ms = remaining_ms(context)
    if left_ms is None:
        return Deadline(now_s, math.inf, math.inf, math.inf)
    if margin_ms is None:
        margin_ms = min(MOST_MARGIN_MS, max(LEAST_MARGIN_MS, left_ms / 10))
    margin_ms = min(margin_ms, left_ms / 2)
    end_s, margin_s = now_s + left_ms / 1000, margin_ms / 1000
    return Deadline(now_s, end_s - margin_s, end_s - margin_s / 2, end_s - margin_s / 4)
