"""The least HTTP/1.1 that the runtime client and an SDK's Lambda client need: requests in, one
write a response out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httptools

_REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    404: "Not Found",
    413: "Payload Too Large",
    429: "Too Many Requests",
}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self) -> bytes:
        """Head and body as one string of bytes: in two writes, Nagle's algorithm and the
        client's delayed acknowledgement cost 40 ms an invocation. Always with a
        ``Content-Type``: without one the runtime client dies of a segmentation fault."""
        lines = [f"HTTP/1.1 {self.status} {_REASONS[self.status]}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


Answer = Callable[[Request], Awaitable[Response]]


@dataclass(slots=True)
class _Incoming:
    """The request that is being parsed."""

    url: bytes = b""
    parts: list[bytes] = field(default_factory=list)


class RuntimeConnection(asyncio.Protocol):
    """One connection of the runtime client; asyncio sets TCP_NODELAY on it."""

    def __init__(self, answer: Answer, open_connections: set[RuntimeConnection]) -> None:
        self._answer = answer
        self._open_connections = open_connections
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._incoming = _Incoming()
        self._answers: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_connections.discard(self)
        self._transport = None
        for task in self._answers:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # httptools' callbacks

    def on_message_begin(self) -> None:
        self._incoming = _Incoming()

    def on_url(self, url: bytes) -> None:
        self._incoming.url += url

    def on_body(self, body: bytes) -> None:
        self._incoming.parts.append(body)

    def on_message_complete(self) -> None:
        request = Request(
            self._parser.get_method().decode(),
            self._incoming.url.decode("ascii", "replace"),
            b"".join(self._incoming.parts),
        )
        task = asyncio.get_running_loop().create_task(self._respond(request))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _respond(self, request: Request) -> None:
        response = await self._answer(request)
        if self._transport is not None:
            self._transport.write(response.encode())
