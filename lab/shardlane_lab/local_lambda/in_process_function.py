"""A handler called directly, on any event loop: how a mapping runs a function in virtual time.

What the sandbox gives by being a process of its own, this gives by copying: events and responses
go through JSON, exceptions become the service's error shape, and a duration over the time-out is
a time-out. A plain handler takes no virtual time by itself; an ``async`` one takes what it sleeps.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.function import MAX_REQUEST_BYTES
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION
from shardlane_lab.local_lambda.function_metrics import report_invocation, report_throttle
from shardlane_lab.local_lambda.invoke_result import InvokeResult, failure
from shardlane_lab.local_lambda.ports import WallClock
from shardlane_lab.metric import Observer

Handler = Callable[[Any, Any], Any]
DurationOf = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True, slots=True)
class Context:
    """The context object of the Python runtime (source: "Using the Lambda context object to
    retrieve Python function information")."""

    aws_request_id: str
    function_name: str
    memory_limit_in_mb: str
    invoked_function_arn: str
    _deadline_ms: float
    _wall_ms: WallClock
    function_version: str = "$LATEST"
    log_group_name: str = ""
    log_stream_name: str = ""
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int(self._deadline_ms - self._wall_ms()))


@dataclass(kw_only=True)
class InProcessFunction:
    """``invoke`` is what a mapping calls."""

    handler: Handler
    wall_ms: WallClock
    name: str = "function"
    timeout_s: float = 3.0
    memory_mb: int = 128
    duration_s: float | DurationOf = 0.0
    """How long an invocation takes in the loop's time, besides what the handler sleeps itself."""
    concurrency: int | None = None
    """Invocations at once; further ones are throttled. ``None`` is no bound."""
    observer: Observer | None = None
    _running: int = field(default=0, init=False)

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{LOCAL_REGION}:{LOCAL_ACCOUNT}:function:{self.name}"

    async def invoke(self, event: Mapping[str, Any]) -> InvokeResult:
        """Raises ``InvocationRefused`` when throttled, or for an event over 6 MB."""
        body = json.dumps(event)
        if len(body) > MAX_REQUEST_BYTES:
            raise InvocationRefused("RequestEntityTooLargeException", f"{len(body)} bytes")
        begun_ms = self.wall_ms()
        if self.concurrency is not None and self._running >= self.concurrency:
            report_throttle(self.observer, self.name, begun_ms)
            raise InvocationRefused("TooManyRequestsException", "Rate Exceeded.")
        self._running += 1
        try:
            result = await self._run(json.loads(body), begun_ms)
        finally:
            self._running -= 1
        report_invocation(self.observer, self.name, result, begun_ms)
        return result

    async def _run(self, event: dict[str, Any], begun_ms: float) -> InvokeResult:
        request_id = str(uuid.uuid4())
        context = self._context(request_id, begun_ms)
        try:
            async with asyncio.timeout(self.timeout_s) as deadline:
                returned = await self._call(event, context)
        except SystemExit as error:
            reason = f"Runtime exited with error: exit status {error.code or 0}"
            result = failure("Runtime.ExitError", f"RequestId: {request_id} Error: {reason}")
        except Exception:
            # The function's own failure, whatever it is: it is the invocation's result.
            result = self._timed_out(request_id) if deadline.expired() else _raised(request_id)
        else:
            result = _answered(returned)
        duration_ms = self.wall_ms() - begun_ms
        return replace(result, request_id=request_id, duration_ms=duration_ms)

    async def _call(self, event: dict[str, Any], context: Context) -> Any:
        # The handler first: what it did stays done when the invocation then times out.
        returned = self.handler(event, context)
        if inspect.isawaitable(returned):
            returned = await returned
        duration_s = self.duration_s(event) if callable(self.duration_s) else self.duration_s
        if duration_s:
            await asyncio.sleep(duration_s)
        return returned

    def _context(self, request_id: str, begun_ms: float) -> Context:
        return Context(
            aws_request_id=request_id,
            function_name=self.name,
            memory_limit_in_mb=str(self.memory_mb),
            invoked_function_arn=self.arn,
            _deadline_ms=begun_ms + self.timeout_s * 1000.0,
            _wall_ms=self.wall_ms,
            log_group_name=f"/aws/lambda/{self.name}",
        )

    def _timed_out(self, request_id: str) -> InvokeResult:
        said = f"Error: Task timed out after {self.timeout_s:.2f} seconds"
        return failure("Sandbox.Timedout", f"RequestId: {request_id} {said}")


def _answered(returned: Any) -> InvokeResult:
    try:
        return InvokeResult(payload=json.loads(json.dumps(returned)))
    except (TypeError, ValueError) as error:
        return failure("Runtime.MarshalError", f"Unable to marshal response: {error}")


def _raised(request_id: str) -> InvokeResult:
    """Of the exception that is being handled."""
    kind, error, trace = sys.exc_info()
    assert kind is not None
    return InvokeResult(
        error={
            "errorMessage": str(error),
            "errorType": kind.__name__,
            "requestId": request_id,
            "stackTrace": traceback.format_tb(trace),
        },
        function_error="Unhandled",
    )
