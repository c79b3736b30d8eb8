"""The processor that plugs into Powertools' ``process_partial_response``."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from aws_lambda_powertools.utilities.batch import BasePartialBatchProcessor, EventType

from shardlane.attempt import Handler
from shardlane.clock import Clock, SystemClock
from shardlane.drivers import MOST_WORKERS
from shardlane.drivers.kept_loop import KeptLoop
from shardlane.errors import SettingsError, ShardlaneError
from shardlane.event_entry import OURS, RawRecord
from shardlane.invocation import Invocation, Rules, process
from shardlane.invocation_event import refuse_tumbling_window
from shardlane.invocation_log import FailureLogger, log_outcome
from shardlane.keyed_batch import BatchOutcome
from shardlane.policy import FailurePolicy, OnFailure, Policies

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse

    from shardlane.batch_metrics import BatchMetrics
    from shardlane.typed_value import Model


class KeyedBatchProcessor(BasePartialBatchProcessor):
    """Processes a Kinesis batch by partition key.

    Records of one key are started in stream order and one at a time; a later one is never started
    while an earlier one is unfinished or failed. The response names the lowest unsettled sequence
    number and nothing else, also if every record failed.

    An instance keeps nothing from one invocation to the next but its event loop, if its handlers
    are async. ``async_process_partial_response`` works too; either takes plain and async handlers.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        on_failure: OnFailure | None = None,
        margin_ms: float | None = None,
        model: Model | None = None,
        log_keys: bool = False,
        logger: FailureLogger | None = None,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """``workers``: handlers at once, 1 to 256; 1 is sequential. ``on_failure``: default
        ``FailurePolicy.stop()``. ``margin_ms``: how long before the function's time-out nothing
        more starts; default a tenth of its time, 500 to 5,000. ``model``: a pydantic model;
        handlers find the data as it in ``record.value``. ``log_keys``: whether partition keys may
        be logged. ``logger``: default the standard ``shardlane`` logger; a Powertools ``Logger``
        fits. ``clock``, ``draw``: time and randomness, for tests and simulations.

        Raises ``SettingsError`` naming what is not allowed.
        """
        super().__init__(EventType.KinesisDataStreams, raise_on_entire_batch_failure=False)
        if not (isinstance(workers, int) and 1 <= workers <= MOST_WORKERS):
            raise SettingsError(f"workers={workers!r}: allowed is 1 to {MOST_WORKERS}")
        if margin_ms is not None and margin_ms < 0:
            raise SettingsError(f"margin_ms={margin_ms!r}: allowed is 0 or more milliseconds")
        self._rules = Rules(
            workers=workers,
            policies=Policies(on_failure if on_failure is not None else FailurePolicy.stop()),
            margin_ms=margin_ms,
            model=model,
            clock=clock if clock is not None else SystemClock(),
            draw=draw,
            loop=KeptLoop(),
        )
        self._log_keys = log_keys
        self._failure_logger = logger if logger is not None else logging.getLogger("shardlane")
        self._local = threading.local()
        self.metrics: BatchMetrics | None = None
        """Told of every invocation's outcome. A processor that parks has one from the start, with
        the lot's consumer as its dimension: a lot that nobody looks at is a loss in slow motion."""
        lot = self._rules.policies.lot
        if lot is not None:
            from shardlane.batch_metrics import BatchMetrics

            self.metrics = BatchMetrics(lot.consumer)
            lot.open()  # when the sandbox starts, not in an invocation

    def __call__(
        self, records: Sequence[RawRecord], handler: Handler, lambda_context: Any = None
    ) -> Self:
        refuse_tumbling_window(records)
        self._local.invocation = Invocation(records, handler, lambda_context)
        return self

    def process(self) -> list[tuple[Any, ...]]:
        """Runs the batch. Results of handlers are not kept: the list is empty."""
        outcome = process(self._invocation, self._rules)
        log_outcome(self._failure_logger, outcome, log_keys=self._log_keys)
        if self.metrics is not None:
            clock = self._rules.clock
            self.metrics.tell(outcome, wall_ms=clock.wall_ms(), now_s=clock.monotonic_s())
        return []

    def async_process(self) -> list[tuple[Any, ...]]:
        return self.process()

    def response(self) -> PartialItemFailureResponse:
        outcome = self.outcome
        response: Any = {"batchItemFailures": []}
        if outcome.first_unsettled is not None:
            response["batchItemFailures"].append({"itemIdentifier": outcome.first_unsettled})
        if self._invocation.redriven:
            from shardlane.parking.redrive_marker import answer_of

            response[OURS] = answer_of(outcome)
        answer: PartialItemFailureResponse = response
        return answer

    @property
    def outcome(self) -> BatchOutcome:
        """The outcome of the batch that this thread processed last."""
        outcome = self._invocation.outcome
        if outcome is None:
            raise ShardlaneError("the batch has not been processed yet: call process() first")
        return outcome

    @property
    def _invocation(self) -> Invocation:
        invocation: Invocation | None = getattr(self._local, "invocation", None)
        if invocation is None:
            raise ShardlaneError("there is no batch: use process_partial_response")
        return invocation

    def _prepare(self) -> None:
        """Nothing to clear: every invocation has a state of its own."""

    def _clean(self) -> None:
        """Nothing to raise: a batch that failed as a whole is a normal response."""

    def _process_record(self, record: dict[str, Any]) -> Any:
        raise TypeError("a KeyedBatchProcessor handles a batch as a whole: call process()")

    async def _async_process_record(self, record: dict[str, Any]) -> Any:
        raise TypeError("a KeyedBatchProcessor handles a batch as a whole: call process()")
