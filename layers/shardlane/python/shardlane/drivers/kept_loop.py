"""An event loop that lives as long as its processor."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class KeptLoop:
    """One loop for all invocations: clients that a handler keeps are bound to the loop on which
    they were first used, and a sandbox that was frozen goes on with it after the thaw."""

    def __init__(self, owner: object) -> None:
        """The loop is closed when ``owner`` is collected, or at the end of the process."""
        self._runner = asyncio.Runner()
        weakref.finalize(owner, self._runner.close)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(main)
