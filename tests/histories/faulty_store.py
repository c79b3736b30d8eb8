"""A parking store that fails, or whose caller dies, at chosen calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shardlane.errors import StoreUnavailable
from tests.histories.history import Fault
from tests.unit.shardlane.parking.hooked_store import hooked


class Crash(SystemExit):
    """The process ends here and now."""


class FaultyStore:
    """``store`` counts its calls and has a history's faults."""

    def __init__(self, memory: Any, faults: Iterable[Fault]) -> None:
        self.calls = 0
        self.crashes = 0
        self.throttles = 0
        self._faults = {(each.number, each.late): each.kind for each in faults}
        self.store = hooked(memory, self._before, self._after)

    def _before(self, name: str) -> None:
        self._fail(late=False)

    def _after(self, name: str) -> None:
        self.calls += 1
        self._fail(late=True)

    def _fail(self, *, late: bool) -> None:
        number = self.calls - 1 if late else self.calls
        kind = self._faults.pop((number, late), None)
        if kind is None:
            return
        if not late:
            self.calls += 1
        if kind == "crash":
            self.crashes += 1
            raise Crash(1)
        self.throttles += 1
        raise StoreUnavailable("throttled")
