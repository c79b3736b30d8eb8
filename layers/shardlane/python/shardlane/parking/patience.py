"""Calls of a parking store, repeated while it is unavailable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shardlane.backoff import Backoff
from shardlane.clock import Clock
from shardlane.errors import StoreUnavailable

T = TypeVar("T")

PATIENCE = Backoff(first_ms=20, most_ms=1_000)
"""Between repetitions: a conflict with another transaction is over within milliseconds."""


def patiently(call: Callable[[], T], clock: Clock, until_s: float, draw: Callable[[], float]) -> T:
    """What ``call`` returns, once it answers. Raises its ``StoreUnavailable`` when the next
    repetition would come after ``until_s`` on the monotonic clock."""
    failures = 0
    while True:
        try:
            return call()
        except StoreUnavailable:
            failures += 1
            wait_s = PATIENCE.wait_ms(failures, draw()) / 1000
            if clock.monotonic_s() + wait_s >= until_s:
                raise
        clock.sleep_s(wait_s)
