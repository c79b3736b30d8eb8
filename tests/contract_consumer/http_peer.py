"""A server over HTTP/1.1 that answers what a test says, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any


class Peer:
    """The server's end of one connection."""

    def __init__(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.number = number
        """Of the connection, from 1."""
        self._reader = reader
        self._writer = writer

    async def request(self) -> bytes:
        """The next one's body; raises ``IncompleteReadError`` if the client has closed."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        assert length is not None
        return await self._reader.readexactly(int(length[1]))

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)

    async def closed(self) -> None:
        """Waits until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            assert await self._reader.read() == b""


def answer(body: bytes, head: bytes = b"HTTP/1.1 200 OK\r\n") -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


Serve = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    """The port of a server; its connections have ended when this ends."""
    peers: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        peers[task] = writer
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(Peer(len(peers), reader, writer))
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task, writer in peers.items():
            task.cancel()
            writer.close()
        await asyncio.gather(*peers, return_exceptions=True)
        await asyncio.gather(
            *(writer.wait_closed() for writer in peers.values()), return_exceptions=True
        )
