"""A Lambda function on this machine: the template's handler in the real runtime client, one
sandbox for each invocation that runs at the same time, warm ones used again."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from shardlane_lab.local_lambda.code_watch import CodeWatch
from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.function_config import FunctionConfig
from shardlane_lab.local_lambda.function_metrics import report_invocation, report_throttle
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.worker import Worker, system_wall_ms
from shardlane_lab.metric import Observer

MAX_REQUEST_BYTES = 6 * 1024 * 1024
"""Of a synchronous invocation (Lambda quotas)."""
ACCOUNT_CONCURRENCY = 1000
"""The default quota of an account; bounds a function without a reservation."""

OnLog = Callable[[str, str], None]
"""Told of ``(function name, line)`` as it is read; must not block."""


class LocalFunction:
    """``invoke`` may be called concurrently; each call has a sandbox of its own."""

    def __init__(
        self,
        config: FunctionConfig,
        *,
        on_log: OnLog | None = None,
        observer: Observer | None = None,
        endpoints: Mapping[str, str] | None = None,
        watch: bool = False,
    ) -> None:
        """With ``watch`` an invocation that finds the code edited loads it anew."""
        self.config = config
        self._watch = CodeWatch(config.code_folder) if watch else None
        today = datetime.now(UTC).strftime("%Y/%m/%d")
        self.log_stream = f"{today}/[$LATEST]{uuid.uuid4().hex}"
        """One for all sandboxes; on AWS each has its own."""
        self._on_log = on_log
        self._observer = observer
        self._endpoints = dict(endpoints or {})
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._stale: set[Worker] = set()
        """Busy ones that are not used again."""

    async def start(self) -> None:
        """Warms one sandbox, so that the first invocation is no cold start. A handler that cannot
        be loaded shows in the first invocation, as it does on AWS."""
        worker = self._new_worker()
        try:
            await worker.start()
        finally:
            await self._put_back(worker)

    async def stop(self) -> None:
        """Kills every sandbox; an invocation under way comes back as failed."""
        workers = [*self._idle, *self._busy]
        self._idle.clear()
        await asyncio.gather(*(worker.stop() for worker in workers))

    async def invoke(self, event: Mapping[str, Any]) -> InvokeResult:
        """Runs the handler with ``event``, synchronously, as a mapping does.

        Raises ``InvocationRefused`` when the service would not have called the handler: more
        invocations at once than the concurrency allows, or an event over 6 MB.
        """
        body = json.dumps(event, separators=(",", ":")).encode()
        _check_size(body)
        if self._watch is not None and self._watch.edited():
            await self._reload()
        begun_ms = system_wall_ms()
        self._check_concurrency(begun_ms)
        worker = await self._take()
        try:
            result = await worker.run(body)
        finally:
            await self._put_back(worker)
        report_invocation(self._observer, self.config.name, result, begun_ms)
        return result

    async def _reload(self) -> None:
        """Invocations under way end on the code that they have, and their sandboxes with them."""
        self._log("the code was edited: loading it anew")
        idle, self._idle = self._idle, []
        self._stale.update(self._busy)
        await asyncio.gather(*(worker.stop() for worker in idle))

    def _check_concurrency(self, now_ms: float) -> None:
        reserved = self.config.reserved_concurrency
        if len(self._busy) < (ACCOUNT_CONCURRENCY if reserved is None else reserved):
            return
        report_throttle(self._observer, self.config.name, now_ms)
        raise InvocationRefused("TooManyRequestsException", "Rate Exceeded.")

    async def _take(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()  # the newest: the oldest ones are the spare ones
            if worker.usable:
                self._busy.add(worker)
                return worker
            await worker.stop()
        return self._new_worker()

    def _new_worker(self) -> Worker:
        worker = Worker(self.config, self._endpoints, self.log_stream, self._log)
        self._busy.add(worker)
        return worker

    async def _put_back(self, worker: Worker) -> None:
        """Keeps it warm, or ends it if it cannot be used again or was interrupted."""
        self._busy.discard(worker)
        stale = worker in self._stale
        self._stale.discard(worker)
        if worker.usable and not stale:
            self._idle.append(worker)
        else:
            await worker.stop()

    def _log(self, line: str) -> None:
        if self._on_log is not None:
            self._on_log(self.config.name, line)


def _check_size(body: bytes) -> None:
    if len(body) > MAX_REQUEST_BYTES:
        raise InvocationRefused(
            "RequestEntityTooLargeException",
            f"the event has {len(body)} bytes, allowed: {MAX_REQUEST_BYTES}",
        )
