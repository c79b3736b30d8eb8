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
        self._tls = tls
        self._responder = Responder(model, wall_ms, frame_gap_ms)
        self._connections = _Connections()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> int:
        """Listens on 127.0.0.1 (0: any free port) and returns the port.

        Raises ``OSError`` that names the port if it is taken.
        """
        loop = asyncio.get_running_loop()
        self._connections = _Connections()
        try:
            self._server = await loop.create_server(self._connection, HOST, port, ssl=self._tls)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(
                    error.errno,
                    f"Port {port} of {HOST} is in use: stop what listens there, or give another "
                    f"port (0 takes any free one).",
                ) from error
            raise
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Ends every connection and subscription, then the listener."""
        if self._server is None:
            return
        self._server.close()
        await self._responder.stop()
        self._connections.close()
        await self._server.wait_closed()
        self._server = None
        await asyncio.sleep(0)  # lets the aborted transports close their sockets

    def _connection(self) -> asyncio.Protocol:
        return _Connection(self._responder, self._connections)


class _Connections:
    """Those of one server. A connection that was accepted while it stopped is ended at once."""

    def __init__(self) -> None:
        self._open: set[_Connection] = set()
        self._closed = False

    def add(self, connection: _Connection) -> None:
        self._open.add(connection)
        if self._closed:
            connection.end()

    def discard(self, connection: _Connection) -> None:
        self._open.discard(connection)

    def close(self) -> None:
        self._closed = True
        for connection in list(self._open):
            connection.end()


class _Connection(asyncio.Protocol):
    """One socket; which HTTP it speaks shows in its first bytes."""

    def __init__(self, responder: Responder, connections: _Connections) -> None:
        self._responder = responder
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._http: Http1Connection | Http2Connection | None = None
        self._first = b""

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
        if self._http is not None:
            self._http.lost()

    def pause_writing(self) -> None:
        if self._http is not None:
            self._http.pause()

    def resume_writing(self) -> None:
        if self._http is not None:
            self._http.resume()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.abort()
