"""A parking store on which a test acts around every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardlane.errors import StoreUnavailable
from shardlane.parking.memory_store import MemoryParkingStore

CALLS = (
    "gates",
    "park_first",
    "park_behind",
    "acquire",
    "gate",
    "parked",
    "lift",
    "extend",
    "remove",
    "note_failure",
    "release",
)


def hooked(
    store: Any, before: Callable[[str], None], after: Callable[[str], None] = lambda name: None
) -> Any:
    """``store`` with ``before(name)`` and ``after(name)`` around each call; what they raise is
    raised to the caller. After ``after`` raised, the call has happened."""

    class Hooked:
        blocking = False

        def __getattr__(self, name: str) -> Any:
            method = getattr(store, name)
            if name not in CALLS:
                return method

            def call(*args: Any, **kwargs: Any) -> Any:
                before(name)
                answer = method(*args, **kwargs)
                after(name)
                return answer

            return call

    return Hooked()


class Outage:
    """Makes chosen calls fail: as often as listed, without or with having happened."""

    def __init__(self, **failures: int) -> None:
        """``park_first=2`` fails two calls of it; ``late_park_first=1`` one that happens."""
        self.left = failures
        self.calls: list[str] = []
        self.memory = MemoryParkingStore()
        self.store = hooked(self.memory, self._before, self._after)

    def _before(self, name: str) -> None:
        self.calls.append(name)
        self._fail(name)

    def _after(self, name: str) -> None:
        self._fail(f"late_{name}")

    def _fail(self, name: str) -> None:
        if self.left.get(name, 0) > 0:
            self.left[name] -= 1
            raise StoreUnavailable(f"{name}: throttled")
