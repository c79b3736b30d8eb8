"""Drives one slice of a shard through the function: one batch at a time, until it is settled."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardlane_lab.local_lambda.after_invoke import (
    Decision,
    GivenUp,
    after_invoke,
    after_refusal,
    before_invoke,
    pause_s,
)
from shardlane_lab.local_lambda.batch import Batch
from shardlane_lab.local_lambda.batch_response import Failed, FailedFrom, Reading, read_response
from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.local_lambda.kinesis_event import kinesis_event
from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import MappingConfig, MappingIdentity
from shardlane_lab.local_lambda.mapping_metrics import MappingMetrics
from shardlane_lab.local_lambda.on_failure import failure_message, with_payload
from shardlane_lab.local_lambda.ports import Destination, Invoke, WallClock
from shardlane_lab.local_lambda.shard_intake import ShardIntake, Slice
from shardlane_lab.local_lambda.tumbling import Windows

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every slice of a mapping works with."""

    config: MappingConfig
    identity: MappingIdentity
    invoke: Invoke
    destination: Destination | None
    metrics: MappingMetrics
    wall_ms: WallClock
    retention_ms: float
    """Of the stream: what is older is gone."""
    before_invoke_s: float = 0.0


class SliceWorker:
    def __init__(self, work: Work, shard_id: str, intake: ShardIntake, of: Slice) -> None:
        self._work = work
        self._shard_id = shard_id
        self._intake = intake
        self._slice = of
        self._windows = (
            Windows(work.config.tumbling_window_s, work.identity, shard_id, intake.open_window(of))
            if work.config.tumbling_window_s
            else None
        )
        self._refusals = 0
        self._last: InvokeResult | None = None
        """Of the batch in work."""

    async def run(self) -> None:
        """Until the shard has ended and everything in it is settled."""
        while True:
            await self._wait_due()
            if self._window_is_over():
                await self._close_window()
            elif self._slice.gathering.first is not None:
                await self._work_off(self._next())
            elif self._intake.closed:
                return

    # --- waiting ----------------------------------------------------------------------------

    async def _wait_due(self) -> None:
        """Until a batch is due, a window is over, or the shard has ended."""
        clock = asyncio.get_running_loop().time
        while not self._intake.closed:
            wait_s = min(self._batch_due_s(), self._window_due_s()) - clock()
            if wait_s <= 0:
                return
            self._slice.changed.clear()
            timeout_s = None if wait_s == float("inf") else wait_s
            try:
                async with asyncio.timeout(timeout_s):
                    await self._slice.changed.wait()
            except TimeoutError:
                continue

    def _batch_due_s(self) -> float:
        due_s = self._slice.gathering.due_s()
        return float("inf") if due_s is None else due_s

    def _window_due_s(self) -> float:
        if self._windows is None or not self._windows.open:
            return float("inf")
        upcoming = self._slice.gathering.first
        now_s, now_ms = asyncio.get_running_loop().time(), self._work.wall_ms()
        if self._windows.must_close(upcoming, now_ms):
            return now_s
        if upcoming is not None:
            return float("inf")  # it belongs to the open window and goes first
        return now_s + max(0.001, (self._windows.closes_ms - now_ms) / 1000.0)

    def _window_is_over(self) -> bool:
        if self._windows is None or not self._windows.open:
            return False
        upcoming = self._slice.gathering.first
        ended = self._intake.closed and upcoming is None
        return ended or self._windows.must_close(upcoming, self._work.wall_ms())

    # --- one batch --------------------------------------------------------------------------

    def _next(self) -> Batch:
        together = self._windows.together if self._windows else None
        return self._intake.take(self._slice, asyncio.get_running_loop().time(), together)

    async def _work_off(self, batch: Batch) -> None:
        """Everything that comes of ``batch``, in order; nothing newer starts before."""
        self._last = None
        todo = deque([batch])
        while todo:
            decision = await self._attempt(todo.popleft())
            self._intake.settle(decision.handled)
            if decision.given_up is not None:
                await self._give_up(decision.given_up)
            todo.extendleft(reversed(decision.todo))
            if todo and decision.pause_s:
                await asyncio.sleep(decision.pause_s)
        self._intake.release(self._slice)

    async def _attempt(self, batch: Batch) -> Decision:
        work = self._work
        checked = before_invoke(batch, work.wall_ms(), work.retention_ms, work.config)
        if checked.given_up is not None:
            return checked
        if work.before_invoke_s:
            await asyncio.sleep(work.before_invoke_s)
        oldest_ms = min(record.arrival_ms for record in batch.records)
        work.metrics.invoking(len(batch.records), max(0.0, work.wall_ms() - oldest_ms))
        try:
            result = await work.invoke(self._event(batch.records))
        except InvocationRefused as refusal:
            return self._refused(batch, refusal)
        self._refusals = 0
        self._last = result
        return await self._answered(replace(batch, invokes=batch.invokes + 1), result)

    async def _answered(self, batch: Batch, result: InvokeResult) -> Decision:
        reading = read_response(result, batch.records, self._work.config)
        self._work.metrics.failed(_failed_count(batch, reading))
        if self._windows is not None and not isinstance(reading, Failed):
            self._windows.carry(result.payload["state"])
            if self._windows.state_too_large:
                await self._invoke_window(final=False, early=True)
                self._windows.reset()
            self._intake.keep_window(self._slice, self._windows.open)
        return after_invoke(batch, reading, self._work.config)

    def _refused(self, batch: Batch, refusal: InvocationRefused) -> Decision:
        """The function never saw the batch: no retry is used up."""
        self._work.metrics.failed(len(batch.records))
        decision = after_refusal(batch, refusal.code == "RequestEntityTooLargeException")
        if decision is not None:
            return decision
        self._refusals += 1
        return Decision(todo=(batch,), pause_s=pause_s(self._refusals - 1, self._work.config))

    def _event(self, records: Sequence[Record]) -> dict[str, Any]:
        if self._windows is not None:
            self._windows.enter(records[0])
        return self._payload(records)

    def _payload(self, records: Sequence[Record]) -> dict[str, Any]:
        """The event, without opening a window for records that are never sent."""
        event = kinesis_event(records, self._work.identity, self._shard_id)
        if self._windows is not None and self._windows.open:
            event |= self._windows.members()
        return event

    # --- windows ----------------------------------------------------------------------------

    async def _close_window(self) -> None:
        assert self._windows is not None
        self._slice.busy = True
        await self._invoke_window(final=True, early=False)
        self._windows.close()
        self._intake.keep_window(self._slice, None)
        self._intake.release(self._slice)

    async def _invoke_window(self, *, final: bool, early: bool) -> None:
        """Until it succeeds: a window's end is never skipped."""
        assert self._windows is not None
        event = {"Records": [], **self._windows.members(final=final, early=early)}
        failures = 0
        while True:
            try:
                result = await self._work.invoke(event)
                if not result.failed:
                    return
            except InvocationRefused as refusal:
                log.debug("the end of a window was refused: %s", refusal)
            await asyncio.sleep(pause_s(failures, self._work.config))
            failures += 1

    # --- giving up --------------------------------------------------------------------------

    async def _give_up(self, given_up: GivenUp) -> None:
        work, records = self._work, given_up.batch.records
        if work.destination is None:
            work.metrics.dropped(len(records))
        else:
            message = failure_message(
                given_up, work.identity, self._shard_id, work.wall_ms(), self._last
            )
            if work.config.on_failure == "s3":
                message = with_payload(message, self._payload(records))
            await self._deliver(work.destination, message, len(records))
        self._intake.settle(records)

    async def _deliver(self, send: Destination, message: dict[str, Any], count: int) -> None:
        try:
            await send(message)
        except Exception:
            # Whatever a destination raises: the service counts it and goes on, and so do we.
            log.exception("an on-failure message of %s was not delivered", self._shard_id)
            self._work.metrics.not_delivered()
            self._work.metrics.dropped(count)
        else:
            self._work.metrics.delivered(count)


def _failed_count(batch: Batch, reading: Reading) -> int:
    match reading:
        case Failed():
            return len(batch.records)
        case FailedFrom(index):
            return len(batch.records) - index
        case _:
            return 0
