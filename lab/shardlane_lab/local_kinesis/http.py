"""The HTTP shell: the model behind a port of this machine, for clients that know only AWS."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable

from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.wire.http1 import Http1Connection
from shardlane_lab.local_kinesis.wire.http2 import PREFACE, Http2Connection
from shardlane_lab.local_kinesis.wire.listener import Listener
from shardlane_lab.local_kinesis.wire.responder import Responder

HOST = "127.0.0.1"
"""Nothing of this listens to other machines."""
FRAME_GAP_MS = 5.0
BODY_BYTES = 32 * 1024 * 1024
"""A PutRecords request of 10 MiB is 14 MB as base64."""


class KinesisServer:
    """Serves ``model`` with the time of ``wall_ms`` (epoch milliseconds)."""

    def __init__(
        self,
        model: Kinesis,
        wall_ms: Callable[[], float],
        *,
        frame_gap_ms: float = FRAME_GAP_MS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._responder = Responder(model, wall_ms, frame_gap_ms)
        self._connections: set[_Connection] = set()
        self._listener = Listener(self._connection, tls)

    async def start(self, port: int = 0) -> int:
        """Listens on 127.0.0.1 (0: any free port) and returns the port.

        Raises ``OSError`` that names the port if it is taken.
        """
        try:
            return self._listener.start(HOST, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise OSError(
                error.errno,
                f"Port {port} of {HOST} is in use: stop what listens there, or give another "
                f"port (0 takes any free one).",
            ) from error

    async def stop(self) -> None:
        """Ends the listener, every subscription and every connection."""
        await self._listener.stop()
        await self._responder.stop()
        await asyncio.gather(*[connection.end() for connection in self._connections])

    def _connection(self) -> asyncio.Protocol:
        return _Connection(self._responder, self._connections)


class _Connection(asyncio.Protocol):
    """One socket; which HTTP it speaks shows in its first bytes."""

    def __init__(self, responder: Responder, connections: set[_Connection]) -> None:
        self._responder = responder
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._http: Http1Connection | Http2Connection | None = None
        self._first = b""
        self._ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        raw = transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._http is None:
            data = self._first = self._first + data
            self._http = self._chosen(data)
        if self._http is not None:
            self._http.feed(data)

    def _chosen(self, first: bytes) -> Http1Connection | Http2Connection | None:
        """None while the first bytes may still become either."""
        if self._transport is None:
            return None
        if first.startswith(PREFACE):
            return Http2Connection(self._transport, self._responder.handle, BODY_BYTES)
        if PREFACE.startswith(first):
            return None
        return Http1Connection(self._transport, self._responder.handle, BODY_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._ended.set()
        if self._http is not None:
            self._http.lost()

    def pause_writing(self) -> None:
        if self._http is not None:
            self._http.pause()

    def resume_writing(self) -> None:
        if self._http is not None:
            self._http.resume()

    async def end(self) -> None:
        """Aborts the connection and returns when its socket is about to close."""
        if self._transport is not None:
            self._transport.abort()
            await self._ended.wait()
