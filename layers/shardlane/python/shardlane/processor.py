"""The processor that plugs into Powertools' ``process_partial_response``.

event → records → keys → handler → outcome → response
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from aws_lambda_powertools.utilities.batch import BasePartialBatchProcessor, EventType

from shardlane.attempt import Call, Handler, bound_to, is_async
from shardlane.clock import Clock, SystemClock
from shardlane.deadline import deadline_of
from shardlane.drivers.inline import run_inline
from shardlane.errors import SettingsError, ShardlaneError
from shardlane.invocation_event import refuse_tumbling_window
from shardlane.invocation_log import FailureLogger, log_outcome
from shardlane.keyed_batch import BatchOutcome, KeyedBatch
from shardlane.lambda_batch import LambdaBatch
from shardlane.policy import FailurePolicy, OnFailure, Policies
from shardlane.record import RawRecord
from shardlane.settings import MOST_WORKERS

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse

    from shardlane.drivers.kept_loop import KeptLoop


@dataclass(slots=True)
class _Invocation:
    """What one invocation gave us, and later its outcome."""

    entries: Sequence[RawRecord]
    handler: Handler
    context: Any
    outcome: BatchOutcome | None = None


class KeyedBatchProcessor(BasePartialBatchProcessor):
    """Processes a Kinesis batch by partition key.

    Records of one key are started in stream order and one at a time; a later one is never started
    while an earlier one is unfinished or failed. The response names the lowest unsettled sequence
    number and nothing else, also if every record failed.

    An instance keeps nothing from one invocation to the next but its event loop, if its handlers
    are async. ``async_process_partial_response`` works too; neither needs the other's handlers.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        on_failure: OnFailure | None = None,
        margin_ms: float | None = None,
        log_keys: bool = False,
        logger: FailureLogger | None = None,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """``workers``: handlers at once, 1 to 256; 1 is sequential and starts no thread.
        ``on_failure``: default ``FailurePolicy.stop()``. ``margin_ms``: how long before the
        function's time-out nothing more starts; default a tenth of its time, 500 to 5,000.
        ``log_keys``: whether partition keys may be logged. ``logger``: default the standard
        ``shardlane`` logger; a Powertools ``Logger`` fits. ``clock``, ``draw``: for tests.

        Raises ``SettingsError`` naming what is not allowed.
        """
        super().__init__(EventType.KinesisDataStreams, raise_on_entire_batch_failure=False)
        if not (isinstance(workers, int) and 1 <= workers <= MOST_WORKERS):
            raise SettingsError(f"workers={workers!r}: allowed is 1 to {MOST_WORKERS}")
        if margin_ms is not None and margin_ms < 0:
            raise SettingsError(f"margin_ms={margin_ms!r}: allowed is 0 or more milliseconds")
        self._workers = workers
        self._policies = Policies(on_failure if on_failure is not None else FailurePolicy.stop())
        self._margin_ms = margin_ms
        self._log_keys = log_keys
        self._failure_logger = logger if logger is not None else logging.getLogger("shardlane")
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._draw = draw
        self._local = threading.local()
        self._loop: KeptLoop | None = None

    def __call__(
        self,
        records: Sequence[RawRecord],
        handler: Handler,
        lambda_context: Any = None,
    ) -> Self:
        refuse_tumbling_window(records)
        self._local.invocation = _Invocation(records, handler, lambda_context)
        return self

    def process(self) -> list[tuple[Any, ...]]:
        """Runs the batch. Results of handlers are not kept: the list is empty."""
        invocation = self._invocation
        batch = KeyedBatch(LambdaBatch(invocation.entries), self._policies, self._draw)
        self._drive(batch, invocation)
        invocation.outcome = batch.outcome()
        log_outcome(self._failure_logger, invocation.outcome, log_keys=self._log_keys)
        return []

    def async_process(self) -> list[tuple[Any, ...]]:
        return self.process()

    def response(self) -> PartialItemFailureResponse:
        identifier = self.outcome.first_unsettled
        if identifier is None:
            return {"batchItemFailures": []}
        return {"batchItemFailures": [{"itemIdentifier": identifier}]}

    @property
    def outcome(self) -> BatchOutcome:
        """The outcome of the batch that this thread processed last."""
        outcome = self._invocation.outcome
        if outcome is None:
            raise ShardlaneError("the batch has not been processed yet: call process() first")
        return outcome

    @property
    def _invocation(self) -> _Invocation:
        invocation: _Invocation | None = getattr(self._local, "invocation", None)
        if invocation is None:
            raise ShardlaneError("there is no batch: use process_partial_response")
        return invocation

    def _drive(self, batch: KeyedBatch, invocation: _Invocation) -> None:
        clock = self._clock
        deadline = deadline_of(invocation.context, self._margin_ms, clock.monotonic_s())
        call: Call = bound_to(invocation.handler, invocation.context)
        if is_async(invocation.handler):
            from shardlane.drivers.event_loop import run_on_loop

            self._kept_loop().run(run_on_loop(batch, call, clock, deadline, self._workers))
        elif self._workers > 1:
            # Not at the top: a sequential function does not pay for it at cold start.
            from shardlane.drivers.threads import run_in_threads

            run_in_threads(batch, call, clock, deadline, self._workers)
        else:
            run_inline(batch, call, clock, deadline)

    def _kept_loop(self) -> KeptLoop:
        if self._loop is None:
            from shardlane.drivers.kept_loop import KeptLoop

            self._loop = KeptLoop(self)
        return self._loop

    def _prepare(self) -> None:
        """Nothing to clear: every invocation has a state of its own."""

    def _clean(self) -> None:
        """Nothing to raise: a batch that failed as a whole is a normal response."""

    def _process_record(self, record: dict[str, Any]) -> Any:
        raise TypeError("a KeyedBatchProcessor handles a batch as a whole: call process()")

    async def _async_process_record(self, record: dict[str, Any]) -> Any:
        raise TypeError("a KeyedBatchProcessor handles a batch as a whole: call process()")
