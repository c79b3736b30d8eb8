"""A listening socket whose end is an end.

asyncio's own server loses a connection that it accepted in the moment it is closed: nobody owns
that socket any more, and its client waits for ever (CPython 3.11, ``Server._attach``). Here every
accepted socket is in somebody's hands.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable

_BACKLOG = 512
_HANDSHAKE_S = 10.0
_FILES_RAN_OUT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listener:
    def __init__(
        self, make_protocol: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        self._make_protocol = make_protocol
        self._tls = tls
        self._socket: socket.socket | None = None
        self._connecting: dict[asyncio.Task[None], socket.socket] = {}

    def start(self, host: str, port: int) -> int:
        """Listens; returns the port. Raises ``OSError`` if it is taken."""
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen(_BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
        self._socket = listening
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)
        bound: int = listening.getsockname()[1]
        return bound

    async def stop(self) -> None:
        """No new connection after this, and none half made."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        connecting = dict(self._connecting)
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        for accepted in connecting.values():
            accepted.close()

    def _accept(self, listening: socket.socket) -> None:
        try:
            accepted, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # the client left again
        except OSError as error:
            if error.errno in _FILES_RAN_OUT:
                return  # the client waits in the backlog until a file is free
            raise
        accepted.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._connect(accepted))
        self._connecting[task] = accepted
        task.add_done_callback(lambda done: self._connecting.pop(done, None))

    async def _connect(self, accepted: socket.socket) -> None:
        handshake_s = None if self._tls is None else _HANDSHAKE_S
        with contextlib.suppress(OSError):  # a failed handshake is one; asyncio closed the socket
            await asyncio.get_running_loop().connect_accepted_socket(
                self._make_protocol,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=handshake_s,
            )
