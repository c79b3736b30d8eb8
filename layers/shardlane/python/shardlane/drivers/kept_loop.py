"""An event loop that lives as long as its processor."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from shardlane.errors import ShardlaneError

T = TypeVar("T")


class KeptLoop:
    """One loop for all invocations of a thread: clients that a handler keeps are bound to the loop
    on which they were first used, and a sandbox that was frozen goes on with it after the thaw.

    A loop is made when it is first needed, and closed with this object or with the process. (Lambda
    has one thread; tests and other programs may have several.)
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Raises ``ShardlaneError`` on a thread whose event loop is running."""
        if _runs_a_loop():
            main.close()
            raise ShardlaneError(
                "an async handler needs an event loop of its own, and this thread runs one "
                "already: call the function on another thread, as asyncio.to_thread does"
            )
        loop: asyncio.AbstractEventLoop | None = getattr(self._local, "loop", None)
        if loop is None:
            loop = self._local.loop = asyncio.new_event_loop()
            # Not a Runner: its close() runs the loop once more, and a collector may call this
            # while another loop is running.
            weakref.finalize(self, loop.close)
        return loop.run_until_complete(main)


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
