"""An event loop that lives as long as its processor."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class KeptLoop:
    """One loop for all invocations: clients that a handler keeps are bound to the loop on which
    they were first used, and a sandbox that was frozen goes on with it after the thaw.

    The loop is made when it is first needed, and closed with this object or with the process.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # Not a Runner: its close() runs the loop once more, and a collector may call this
            # while another loop is running.
            weakref.finalize(self, self._loop.close)
        return self._loop.run_until_complete(main)
