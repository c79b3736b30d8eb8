"""Connections to one host, kept for the next request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from dataclasses import dataclass

from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.http_connection import Answer, HttpConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where the connections go."""

    name: str
    port: int
    tls: ssl.SSLContext | None
    """None: no TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """In seconds, but for the first."""

    connections: int = 64
    """Under way together; more wait for their turn."""
    connect_s: float = 5.0
    """For one address, TLS included."""
    silence_s: float = 30.0
    idle_s: float = 50.0
    """A connection that was idle for longer is not used again: something between here and there
    may have forgotten it, and not say so."""


class HttpPool:
    """Asks one host, over the connection that was used last."""

    def __init__(self, host: Host, resolver: DaemonPool, limits: Limits) -> None:
        """``resolver`` looks addresses up. The loop's own executor would hold up the process's end
        for as long as a name server does not answer."""
        self._host = host
        self._resolver = resolver
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way: set[asyncio.Task[Answer]] = set()
        self._begin_anew()

    async def ask(self, request: bytes) -> Answer:
        """Sends a request once. Raises ``OSError``: ``ConnectionError``, ``TimeoutError``, and what
        a name that is not found or a certificate that is not trusted raises.

        If the caller is cancelled, a request that is on its way goes on without it and keeps its
        place among those under way. A service that is slow would otherwise get every new attempt
        on top of those it still works on, each over a new connection.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._begin_anew()  # the connections ended with their loop
            self._loop = loop
        turns, everyone = self._turns, self._all
        await turns.acquire()
        told: asyncio.Future[Answer] = loop.create_future()

        def ended(exchange: asyncio.Task[Answer]) -> None:
            self._under_way.discard(exchange)
            turns.release()
            _tell(told, exchange)

        exchange = loop.create_task(self._exchange(request, everyone))
        self._under_way.add(exchange)  # the loop itself would let go of it
        exchange.add_done_callback(ended)
        return await told

    def close(self) -> None:
        """Closes every connection; requests under way raise ``ConnectionError``."""
        if self._loop is not None and not self._loop.is_closed():  # or it cannot be told any more
            for connection in self._all:
                connection.abort()
        self._begin_anew()

    # --- inside -----------------------------------------------------------------------------

    async def _exchange(self, request: bytes, everyone: set[HttpConnection]) -> Answer:
        """``everyone`` is what ``close`` closed if that came since."""
        if everyone is not self._all:
            raise ConnectionError("the connections have been closed")
        connection = self._idle_one() or await self._connected()
        if everyone is not self._all:
            connection.abort()
            raise ConnectionError("the connections have been closed")
        everyone.add(connection)
        try:
            return await connection.ask(request)
        finally:
            self._keep(connection)

    def _begin_anew(self) -> None:
        self._turns = asyncio.Semaphore(self._limits.connections)
        self._idle: deque[HttpConnection] = deque()
        """The one that was used last is at the right."""
        self._all: set[HttpConnection] = set()

    def _idle_one(self) -> HttpConnection | None:
        oldest_s = asyncio.get_running_loop().time() - self._limits.idle_s
        while self._idle and not _is_usable(self._idle[0], oldest_s):
            self._drop(self._idle.popleft())
        while self._idle:
            connection = self._idle.pop()
            if _is_usable(connection, oldest_s):
                return connection
            self._drop(connection)
        return None

    def _keep(self, connection: HttpConnection) -> None:
        if connection.is_open and connection in self._all:
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: HttpConnection) -> None:
        connection.abort()
        self._all.discard(connection)

    async def _connected(self) -> HttpConnection:
        host = self._host
        found = await self._resolver.run(
            socket.getaddrinfo, host.name, host.port, type=socket.SOCK_STREAM
        )
        error: OSError = ConnectionError(f"{host.name} has no address")
        for _, _, _, _, address in found:
            try:
                return await self._connected_to(str(address[0]))
            except OSError as raised:  # the next address may do
                error = raised
        raise error

    async def _connected_to(self, address: str) -> HttpConnection:
        host = self._host
        try:
            async with asyncio.timeout(self._limits.connect_s):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: HttpConnection(self._limits.silence_s),
                    address,
                    host.port,
                    ssl=host.tls,
                    server_hostname=host.name if host.tls is not None else None,
                )
        except TimeoutError as error:
            waited = f"{self._limits.connect_s:g} s"
            raise TimeoutError(f"no connection to {address}:{host.port} in {waited}") from error
        return connection


def _tell(told: asyncio.Future[Answer], exchange: asyncio.Task[Answer]) -> None:
    error = None if exchange.cancelled() else exchange.exception()
    if told.done():
        return  # nobody waits any more
    if exchange.cancelled():
        told.cancel()
    elif error is not None:
        told.set_exception(error)
    else:
        told.set_result(exchange.result())


def _is_usable(connection: HttpConnection, oldest_s: float) -> bool:
    return connection.is_open and connection.idle_since_s >= oldest_s
