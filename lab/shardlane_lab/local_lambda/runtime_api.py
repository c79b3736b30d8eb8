"""The Runtime API of one sandbox (source: "Using the Lambda runtime API", Developer Guide).

The runtime asks for the next invocation (a long poll), then posts its response or its error.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardlane_lab.local_lambda.runtime_http import Request, Response, RuntimeConnection

MAX_RESPONSE_BYTES = 6 * 1024 * 1024 + 100
"""Of a synchronous invocation (Lambda quotas; the service's message gives the exact number)."""

_INVOCATION = re.compile(r"^/2018-06-01/runtime/invocation/([^/]+)/(response|error)$")
_NEXT = "/2018-06-01/runtime/invocation/next"
_INIT_ERROR = "/2018-06-01/runtime/init/error"


@dataclass(frozen=True, slots=True)
class Invocation:
    """One event on its way to the handler."""

    request_id: str
    event: bytes
    deadline_ms: float
    """Epoch milliseconds; the context's remaining time counts down to it."""
    function_arn: str
    trace_id: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned; ``body`` is its JSON."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised, its module could not be loaded, or its answer was refused."""

    error: Mapping[str, Any]
    runtime_ends: bool = False
    """The runtime client ends itself when its answer is refused."""


class RuntimeApi:
    """Serves one runtime on a port of its own on loopback.

    ``ready`` is done when the runtime asks for its first invocation, with ``None``, or when it
    reports that it cannot start, with ``Raised``.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Raised | None] = loop.create_future()
        self._next: asyncio.Queue[Invocation] = asyncio.Queue()
        self._outcome: asyncio.Future[Returned | Raised] | None = None
        self._current_id: str | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[RuntimeConnection] = set()

    async def start(self) -> str:
        """Listens and returns ``host:port`` for ``AWS_LAMBDA_RUNTIME_API``."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: RuntimeConnection(self._answer, self._connections), "127.0.0.1", 0
        )
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()
        self._server = None

    def hand_over(self, invocation: Invocation) -> asyncio.Future[Returned | Raised]:
        """Gives ``invocation`` to the runtime; the future is done when it answers."""
        self._outcome = asyncio.get_running_loop().create_future()
        self._current_id = invocation.request_id
        self._next.put_nowait(invocation)
        return self._outcome

    async def _answer(self, request: Request) -> Response:
        if request.path == _NEXT:
            return await self._next_invocation()
        if request.path == _INIT_ERROR:
            self._set_ready(Raised(json.loads(request.body)))
            return Response(202)
        match = _INVOCATION.match(request.path)
        if match is None or match.group(1) != self._current_id:
            return Response(404, _problem("InvalidRequestID", f"nothing at {request.path}"))
        return self._take(match.group(2), request.body)

    async def _next_invocation(self) -> Response:
        self._set_ready(None)
        invocation = await self._next.get()
        headers = (
            ("Lambda-Runtime-Aws-Request-Id", invocation.request_id),
            ("Lambda-Runtime-Deadline-Ms", str(int(invocation.deadline_ms))),
            ("Lambda-Runtime-Invoked-Function-Arn", invocation.function_arn),
            ("Lambda-Runtime-Trace-Id", invocation.trace_id),
        )
        return Response(200, invocation.event, headers)

    def _take(self, kind: str, body: bytes) -> Response:
        if kind == "error":
            self._settle(Raised(json.loads(body)))
            return Response(202)
        if len(body) > MAX_RESPONSE_BYTES:
            self._settle(Raised(_too_large(), runtime_ends=True))
            return Response(413, _problem("RequestEntityTooLarge", "the response is too large"))
        self._settle(Returned(body))
        return Response(202)

    def _settle(self, outcome: Returned | Raised) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(outcome)

    def _set_ready(self, outcome: Raised | None) -> None:
        if not self.ready.done():
            self.ready.set_result(outcome)


def _problem(error_type: str, message: str) -> bytes:
    return json.dumps({"errorType": error_type, "errorMessage": message}).encode()


def _too_large() -> dict[str, str]:
    return {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": "Response payload size exceeded maximum allowed payload size "
        f"({MAX_RESPONSE_BYTES} bytes).",
    }
