"""HTTP/1.1 on one connection, parsed by httptools.

Head and body leave in one write (two cost 40 ms each against a client's delayed
acknowledgement), requests of one connection are answered in their order.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus

import httptools

from shardlane_lab.local_kinesis.wire.reply import Reply, WireRequest

Handler = Callable[[WireRequest, Reply], None]

_QUEUED_REQUESTS = 64
"""How many requests a client may send ahead before we stop reading it."""
_ONE_WRITE_BYTES = 64 * 1024
"""Above it a copy costs more than a second write; the last packet is full then anyway."""
_RESET_AFTER_S = 0.02
"""A reset sent at once would overtake what was written before it."""


def reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class Http1Reply:
    """The answer to one request of an ``Http1Connection``."""

    def __init__(self, connection: Http1Connection, keep_alive: bool) -> None:
        self.closed = False
        self.on_closed: Callable[[], None] | None = None
        self.on_room: Callable[[], None] | None = None
        self._connection = connection
        self._keep_alive = keep_alive

    @property
    def full(self) -> bool:
        return self._connection.paused

    def _head(self, status: int, headers: Mapping[str, str], framing: str) -> bytes:
        lines = [f"HTTP/1.1 {status} {reason(status)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(framing)
        lines.append(f"connection: {'keep-alive' if self._keep_alive else 'close'}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self.closed:
            head = self._head(status, headers, f"content-length: {len(body)}")
            if len(body) > _ONE_WRITE_BYTES:
                self._connection.write(head)
                self._connection.write(body)
            else:
                self._connection.write(head + body)
            self._done()

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.closed:
            self._connection.write(self._head(status, headers, "transfer-encoding: chunked"))

    def push(self, data: bytes) -> None:
        if not self.closed:
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))

    def finish(self) -> None:
        if not self.closed:
            self._connection.write(b"0\r\n\r\n")
            self._done()

    def cut(self, reset: bool) -> None:
        if not self.closed:
            self.closed = True  # nothing may follow, least of all a clean end
            self._connection.cut(reset)

    def lost(self) -> None:
        """The connection is gone."""
        if not self.closed:
            self.closed = True
            if self.on_closed is not None:
                self.on_closed()

    def _done(self) -> None:
        self.closed = True
        self._connection.answered(self._keep_alive)


class Http1Connection:
    """Owned by the connection that read the first bytes: it passes on data and events."""

    def __init__(self, transport: asyncio.Transport, handler: Handler, body_cap: int) -> None:
        self._transport = transport
        self._handler = handler
        self._body_cap = body_cap
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[tuple[WireRequest, bool]] = deque()
        self._current: Http1Reply | None = None
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._refused = False
        self.paused = False
        """The socket takes no more for now."""

    # --- from the socket --------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        if self._refused:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, "This server speaks HTTP/1.1 and, with prior knowledge, HTTP/2.")
        except httptools.HttpParserError as error:
            self._refuse(400, f"Malformed HTTP request: {error}.")

    def lost(self) -> None:
        self._queue.clear()
        if self._current is not None:
            self._current.lost()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        if self._current is not None and self._current.on_room is not None:
            self._current.on_room()

    # --- from the parser --------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._url, self._headers, self._body, self._body_bytes = b"", {}, [], 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._body_cap:
            self._refuse(413, f"A request body may have {self._body_cap} bytes.")
        elif not self._refused:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        request = WireRequest(
            self._parser.get_method().decode("latin-1"),
            self._url.decode("latin-1"),
            self._headers,
            b"".join(self._body),
        )
        self._body = []
        self._queue.append((request, bool(self._parser.should_keep_alive())))
        if len(self._queue) > _QUEUED_REQUESTS:
            self._transport.pause_reading()
        self._next()

    # --- answers ----------------------------------------------------------------------------

    def _next(self) -> None:
        while self._current is None and self._queue:
            request, keep_alive = self._queue.popleft()
            if not self._queue:
                self._transport.resume_reading()
            self._current = Http1Reply(self, keep_alive)
            self._handler(request, self._current)

    def answered(self, keep_alive: bool) -> None:
        self._current = None
        if keep_alive:
            self._next()
        else:
            self._transport.close()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def _refuse(self, status: int, message: str) -> None:
        """Answers what was no request and ends the connection."""
        self._refused = True
        body = message.encode()
        head = f"HTTP/1.1 {status} {reason(status)}\r\ncontent-type: text/plain\r\n"
        head += f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self._transport.write(head.encode("latin-1") + body)
        self._transport.close()

    def cut(self, reset: bool) -> None:
        if reset:
            reset_later(self._transport)
        else:
            self._transport.close()


def reset_later(transport: asyncio.Transport) -> None:
    """Ends the connection with a TCP reset, once what was written is on its way."""
    asyncio.get_running_loop().call_later(_RESET_AFTER_S, _reset, transport)


def _reset(transport: asyncio.Transport) -> None:
    raw = transport.get_extra_info("socket")
    if raw is not None and not transport.is_closing():
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
