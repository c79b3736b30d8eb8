"""A sandbox in use: one event in, one result out, with the service's lines around it."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.invoke_result import InvokeResult, failure
from shardlane_lab.local_lambda.report_lines import end_line, report_line, start_line
from shardlane_lab.local_lambda.runtime_api import Invocation, Raised, Returned
from shardlane_lab.local_lambda.sandbox import Exited, Outcome, Sandbox, TimedOut

KEPT_LINES = 10_000
"""Of one invocation, the newest; the callback saw them all."""


def system_wall_ms() -> float:
    """Epoch milliseconds. The sandbox is a process of its own and counts down to its deadline by
    the system's clock, so no other clock can be right here."""
    return time.time_ns() / 1e6


class Worker:
    """Runs one event at a time. ``usable`` says whether it can take another."""

    def __init__(
        self,
        config: FunctionConfig,
        endpoints: Mapping[str, str],
        log_stream: str,
        on_line: Callable[[str], None],
    ) -> None:
        self._config = config
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._sandbox = Sandbox(config, endpoints, log_stream, self._write)
        self._broken = False
        self._interrupted = False

    @property
    def usable(self) -> bool:
        return self._sandbox.alive and not self._broken and not self._interrupted

    async def start(self) -> Raised | TimedOut | Exited | None:
        """Starts the sandbox; anything but ``None`` is why it cannot work."""
        self._write(f"INIT_START Runtime Version: {self._config.runtime} (local)")
        problem = await self._sandbox.start()
        self._broken = problem is not None
        return problem

    async def stop(self) -> None:
        await self._sandbox.stop()

    async def run(self, event: bytes) -> InvokeResult:
        """Starts the sandbox if it is cold, and hands ``event`` over. If this is cancelled the
        handler may still run, so the worker cannot be used again."""
        self._lines.clear()
        self._interrupted = True
        request_id = str(uuid.uuid4())
        clock = asyncio.get_running_loop().time
        init_duration_ms = None
        outcome: Outcome | None = None
        if not self._sandbox.alive:
            begun_s = clock()
            outcome = await self.start()
            init_duration_ms = (clock() - begun_s) * 1000
        self._write(start_line(request_id))
        begun_s = clock()
        if outcome is None:
            outcome = await self._sandbox.invoke(
                self._invocation(request_id, event), self._config.timeout_s
            )
            self._broken = _ends_runtime(outcome)
        measured = replace(
            _result(outcome, request_id, self._config),
            duration_ms=(clock() - begun_s) * 1000,
            init_duration_ms=init_duration_ms,
        )
        return await self._closed(measured)

    async def _closed(self, result: InvokeResult) -> InvokeResult:
        """With the memory used and the last lines."""
        self._interrupted = False
        reported = replace(result, max_memory_mb=await self._sandbox.peak_memory_mb())
        self._write(end_line(reported.request_id))
        self._write(report_line(self._config, reported))
        if reported.error is not None and reported.error["errorType"] == "Sandbox.Timedout":
            self._write(str(reported.error["errorMessage"]))
        return replace(reported, log_lines=tuple(self._lines))

    def _invocation(self, request_id: str, event: bytes) -> Invocation:
        now_ms = system_wall_ms()
        return Invocation(
            request_id=request_id,
            event=event,
            deadline_ms=now_ms + self._config.timeout_s * 1000,
            function_arn=self._config.arn,
            trace_id=f"Root=1-{int(now_ms / 1000):08x}-{uuid.uuid4().hex[:24]};Sampled=0",
        )

    def _write(self, line: str) -> None:
        self._lines.append(line)
        self._on_line(line)


def _ends_runtime(outcome: Outcome) -> bool:
    match outcome:
        case Raised():
            return outcome.runtime_ends
        case TimedOut() | Exited():
            return True
        case Returned():
            return False


def _result(outcome: Outcome, request_id: str, config: FunctionConfig) -> InvokeResult:
    """In the words of the service, found in the answers of the ``Invoke`` operation."""
    match outcome:
        case Returned(body):
            return InvokeResult(payload=json.loads(body or b"null"), request_id=request_id)
        case Raised(error):
            return InvokeResult(error=error, function_error="Unhandled", request_id=request_id)
        case TimedOut():
            kind = "Sandbox.Timedout"
            reason = f"Task timed out after {config.timeout_s:.2f} seconds"
        case Exited(reason):
            kind = "Runtime.ExitError"
    return failure(kind, f"RequestId: {request_id} Error: {reason}", request_id=request_id)
