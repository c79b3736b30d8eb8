"""One HTTP/1.1 connection on the loop. What an answer says is read by httptools."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes


class HttpConnection(asyncio.Protocol):
    """One request at a time. After anything but a whole answer it is of no more use."""

    def __init__(self, silence_s: float) -> None:
        """``silence_s`` is the longest time without a byte while an answer is owed."""
        self.is_open = False
        self.idle_since_s = 0.0
        """When its last answer came, on the loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._silence_s = silence_s
        self._heard_s = 0.0
        self._transport: Any = None
        self._asked: asyncio.Future[Answer] | None = None
        self._reading: _Reading | None = None
        self._timer: asyncio.TimerHandle

    async def ask(self, request: bytes) -> Answer:
        """Sends a request and waits for its answer.

        Raises ``ConnectionError`` if the connection breaks or what comes is not HTTP, and
        ``TimeoutError`` if nothing comes. May be cancelled.
        """
        if not self.is_open:
            raise ConnectionError("the connection has been closed")
        self._asked = self._loop.create_future()
        self._reading = _Reading()
        self._heard_s = self._loop.time()
        self._timer = self._loop.call_later(self._silence_s, self._check_silence)
        self._transport.write(request)
        try:
            answer = await self._asked
        except BaseException:  # cancelled: the answer may still come, and belongs to nobody
            self.abort()
            raise
        finally:
            self._timer.cancel()
            self._asked = None
        self.idle_since_s = self._loop.time()
        return answer

    def abort(self) -> None:
        """Closes it at once. May be called again."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio's calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.is_open = True
        found = transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._fail(ConnectionError(f"the connection closed before its answer was whole: {exc}"))

    def data_received(self, data: bytes) -> None:
        reading = self._reading
        if self._asked is None or self._asked.done() or reading is None:
            self.abort()  # nothing is owed
            return
        self._heard_s = self._loop.time()
        try:
            reading.feed(data)
        except Exception as error:  # httptools has several kinds
            self._fail(ConnectionError(f"the answer is not HTTP: {error}"))
            self.abort()
            return
        if reading.answer is not None:
            self._reading = None
            if not reading.leaves_open:
                self.abort()
            self._asked.set_result(reading.answer)
            # It and its parser hold each other: the answer would stay until the next collection.
            reading.answer = None

    # --- inside -----------------------------------------------------------------------------

    def _check_silence(self) -> None:
        left_s = self._heard_s + self._silence_s - self._loop.time()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check_silence)
        else:
            self._fail(TimeoutError(f"nothing came for {self._silence_s:g} s"))

    def _fail(self, error: Exception) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_exception(error)


class _Reading:
    """One answer as it comes: what httptools calls back."""

    def __init__(self) -> None:
        # Not at the top: it is an extra, and who reads through boto3 needs none.
        from httptools import HttpResponseParser

        self.answer: Answer | None = None
        self.leaves_open = True
        """Whether the connection may be used again after it."""
        self._parser = HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        if self.answer is not None:
            self.leaves_open = False  # more came than was asked for

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.answer is None and status >= 200:
            self.leaves_open = self._parser.should_keep_alive()
            self.answer = Answer(status, self._headers, b"".join(self._body))
        self._headers, self._body = {}, []  # an interim answer (1xx) comes before the real one
