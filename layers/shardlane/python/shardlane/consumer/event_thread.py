"""One SubscribeToShard subscription of boto3, read by a daemon thread."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

Translate = Callable[[BaseException, str], BaseException]
"""Makes a port's exception of boto3's, and of the operation's name."""


class EventThread:
    """Reads an event when it is asked for one, so what waits is the service and no queue here.

    boto3 offers no way to interrupt such a read: closing its stream from another thread waits for
    the read. So ``close`` shuts the socket down, and never waits for anything.
    """

    def __init__(self, subscribe: Callable[[], Mapping[str, Any]], translate: Translate) -> None:
        self._subscribe = subscribe
        self._translate = translate
        self._loop = asyncio.get_running_loop()
        self._asked: asyncio.Future[Mapping[str, Any] | None] = self._loop.create_future()
        self._wanted = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._stream: Any = None
        self._closed = False
        threading.Thread(target=self._run, name="shardlane-subscription", daemon=True).start()

    async def opened(self) -> None:
        """Waits for the answer's head; raises what the port raises."""
        await self._asked

    async def next_event(self) -> Mapping[str, Any] | None:
        self._asked = self._loop.create_future()
        self._wanted.release()
        return await self._asked

    async def close(self) -> None:
        with self._lock:
            self._closed = True
            stream = self._stream
        self._wanted.release()
        if stream is not None:
            _interrupt(stream)

    # --- on the thread ----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            stream = self._subscribe()["EventStream"]
        except BaseException as error:  # it belongs to whoever waits
            self._tell(None, self._translate(error, "SubscribeToShard"))
            return
        with self._lock:
            self._stream, closed = stream, self._closed
        try:
            if not closed:
                self._read(stream)
        finally:
            with contextlib.suppress(Exception):  # a connection that was shut down under it
                stream.close()

    def _read(self, stream: Any) -> None:
        events = iter(stream)
        self._tell(None, None)
        while True:
            self._wanted.acquire()
            if self._closed:
                return
            try:
                event = next(events, None)
            except BaseException as error:  # it belongs to whoever waits
                self._tell(None, self._translate(error, "SubscribeToShard"))
                return
            self._tell(None if event is None else event.get("SubscribeToShardEvent", {}), None)
            if event is None:
                return

    def _tell(self, event: Mapping[str, Any] | None, error: BaseException | None) -> None:
        # The loop may have ended meanwhile: then nobody waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer, event, error)

    def _answer(self, event: Mapping[str, Any] | None, error: BaseException | None) -> None:
        if self._asked.done():
            return
        if error is None:
            self._asked.set_result(event)
        else:
            self._asked.set_exception(error)


def _interrupt(stream: Any) -> None:
    """Shuts the socket under a stream down, which ends a read that is blocked in it."""
    connection = getattr(getattr(stream, "_raw_stream", None), "connection", None)
    found = getattr(connection, "sock", None)
    if found is not None:
        with contextlib.suppress(OSError):  # it has ended by itself
            found.shutdown(socket.SHUT_RDWR)
