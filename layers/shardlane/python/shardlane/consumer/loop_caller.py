"""Passing the word to the event loop from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable


class LoopCaller:
    """Made on the loop's thread, where a call is direct."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()

    def __call__(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A function for any thread that has ``callback`` called on the loop."""

        def call() -> None:
            if threading.get_ident() == self._thread:
                callback()
            else:
                # A handler that was left behind may outlive the loop: then nobody listens.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(callback)

        return call
