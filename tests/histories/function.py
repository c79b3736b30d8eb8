"""The consumer function of a history: our processor, or Powertools' own, with one handler that does
what the history says."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Lock
from typing import Any, Literal, Protocol

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.batch.exceptions import BatchProcessingError
from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import KinesisStreamRecord

from shardlane import (
    Backoff,
    Drop,
    FailurePolicy,
    KeyedBatchProcessor,
    Park,
    ParkingLot,
    Record,
)
from shardlane.errors import RedriveRefused, StoreUnavailable
from shardlane.policy import OnFailure
from tests.histories.history import Call, Policy, Setting
from tests.histories.ledger import Ledger, payloads
from tests.histories.sandbox import Sandbox

Kind = Literal["ours", "powertools"]
_ERRORS: Mapping[Call, type[Exception]] = {
    "value": ValueError,
    "key": KeyError,
    "os": OSError,
    "runtime": RuntimeError,
}
_silent = logging.Logger("histories", logging.CRITICAL)
SHORT_S, SLOW_SHARE = 0.01, 0.4
"""What a call takes, in seconds and as a share of the function's time-out."""


class World(Protocol):
    """What a function is in."""

    setting: Setting
    ledger: Ledger
    scripts: dict[int, list[Call]]
    lot: ParkingLot
    random: Random

    def gates(self) -> set[str]: ...

    def now_s(self) -> float: ...


class Function:
    """What Lambda invokes; one sandbox at a time, a new one after a crash."""

    def __init__(self, world: World, kind: Kind) -> None:
        self._world = world
        self._kind = kind
        self._threads = ThreadPoolExecutor(1)
        self._lock = Lock()
        """Around the ledger, for handlers on threads."""
        self._warm: list[tuple[Sandbox, Any]] = []
        """Each with its processor."""
        self._clock: Sandbox | None = None
        """The one in which a handler is running."""

    def close(self) -> None:
        for sandbox, _ in self._warm:
            sandbox.close(self._threads)
        self._threads.shutdown()

    async def __call__(self, event: dict[str, Any], context: Any) -> Any:
        """As a mapping invokes it. What it does happens at once; then the time passes that it
        took."""
        begun_s = self._world.now_s()
        try:
            return self.invoke(event, from_mapping=True)
        finally:
            assert self._clock is not None
            await asyncio.sleep(max(0.0, self._clock.monotonic_s() - begun_s))

    def invoke(self, event: dict[str, Any], *, from_mapping: bool) -> Any:
        """Raises ``SystemExit`` if the process ended."""
        ledger = self._world.ledger
        sandbox, processor = self._free()
        self._clock = sandbox
        ledger.begin(event, self._world.gates(), from_mapping=from_mapping)
        try:
            response, drops = sandbox.run(
                self._threads, lambda: self._respond(event, sandbox, processor)
            )
        except (RedriveRefused, StoreUnavailable, BatchProcessingError):
            raise
        except Exception as error:  # whatever else it is, it should not be
            ledger.breach(f"the invocation failed: {error!r}")
            raise
        ledger.answered(response, drops, self._world.gates())
        return response

    def _free(self) -> tuple[Sandbox, Any]:
        """A warm sandbox and its processor, or new ones."""
        for sandbox, processor in self._warm:
            if sandbox.free:
                return sandbox, processor
        world = self._world
        sandbox = Sandbox(world.now_s, world.setting.timeout_s)
        self._warm.append((sandbox, self._processed_by(sandbox)))
        return self._warm[-1]

    def _respond(self, event: dict[str, Any], sandbox: Sandbox, processor: Any) -> tuple[Any, int]:
        """The response, and how many records the processor counts as dropped."""
        # A plain handler under a policy that parks would run on a real thread if it had a time-out.
        timeless = self._world.setting.handler == "plain" and self._world.setting.policy.parks
        context: Any = None if timeless or self._kind == "powertools" else sandbox
        response = process_partial_response(
            event=event,
            record_handler=self._handler(),
            processor=processor,
            context=context,
        )
        ours = self._kind == "ours"
        return response, processor.outcome.dropped if ours else 0

    def _handler(self) -> Callable[[Any], Any]:
        if self._kind == "powertools":
            return self._handle_powertools
        return self._handle_async if self._world.setting.handler == "async" else self._handle

    def _processed_by(self, sandbox: Sandbox) -> Any:
        if self._kind == "powertools":
            return BatchProcessor(event_type=EventType.KinesisDataStreams)
        world = self._world
        setting = world.setting
        # On real threads nothing moves the clock while all of them wait.
        backoff = Backoff(0, 1, 0) if setting.handler == "threads" else Backoff(100, 2, 400)
        processor = KeyedBatchProcessor(
            workers=1 if setting.handler == "plain" else setting.workers,
            on_failure=on_failure(setting.policy, world.lot, backoff),
            clock=sandbox,
            draw=world.random.random,
            logger=_silent,
        )
        processor.metrics = None  # they go to standard output
        processor._rules = processor._rules._replace(loop=sandbox.loop)  # type: ignore[arg-type]
        return processor

    # Handlers

    def _handle(self, record: Record) -> None:
        self._run(record.json()["n"])

    def _handle_powertools(self, record: KinesisStreamRecord) -> None:
        # What a team would write: it knows of aggregates, and of no way to drop.
        for data in payloads(record.raw_event):
            number = json.loads(data)["n"]
            try:
                self._run(number)
            except Drop:
                self._world.ledger.dropped_by_hand(number)

    def _run(self, number: int) -> None:
        sandbox, call = self._running(), self._next_call(number)
        with self._noted(number, call):
            if call == "hang":
                # The caller may leave while this thread goes on, and then decides about it.
                self._world.ledger.hang(number)
            sandbox.sleep_s(self._before_s(call))
            self._affect(number, call)
            sandbox.sleep_s(self._after_s(call))

    async def _handle_async(self, record: Record) -> None:
        number = record.json()["n"]
        call = self._next_call(number)
        with self._noted(number, call):
            await asyncio.sleep(self._before_s(call))
            self._affect(number, call)
            await asyncio.sleep(self._after_s(call))

    def _running(self) -> Sandbox:
        assert self._clock is not None
        return self._clock

    def _next_call(self, number: int) -> Call | None:
        script = self._world.scripts.get(number)
        return script.pop(0) if script else None

    def _affect(self, number: int, call: Call | None) -> None:
        if call == "exit":
            raise SystemExit(1)
        if call == "drop":
            raise Drop("obsolete")
        if call == "park":
            raise Park("by hand")
        error = _ERRORS.get(call) if call is not None else None
        if error is not None:
            raise error("boom")
        with self._lock:
            self._world.ledger.effect(number, self._running().monotonic_s())
        if call == "exit late":
            raise SystemExit(1)

    @contextmanager
    def _noted(self, number: int, call: Call | None) -> Any:
        ledger = self._world.ledger
        with self._lock:
            ledger.start(number)
        failure: Call | None = None
        try:
            yield
        except Exception:
            failure = call
            raise
        except asyncio.CancelledError:
            failure = "hang"  # cancelled at the margin, whatever it was doing
            raise
        finally:
            with self._lock:
                ledger.end(number, failure)

    def _before_s(self, call: Call | None) -> float:
        timeout_s = self._world.setting.timeout_s
        if call == "hang":
            return 2 * timeout_s
        return SLOW_SHARE * timeout_s if call == "slow" else SHORT_S

    def _after_s(self, call: Call | None) -> float:
        return SLOW_SHARE * self._world.setting.timeout_s if call == "slow late" else 0.0


def on_failure(policy: Policy, lot: ParkingLot, backoff: Backoff) -> OnFailure:
    made = {
        "stop": FailurePolicy.stop(policy.attempts, backoff),
        "park": FailurePolicy.park(lot, policy.attempts, backoff, policy.max_new_keys),
        "drop": FailurePolicy.drop(policy.attempts, backoff),
    }
    if not policy.by_kind:
        return made[policy.action]
    by_class: dict[type[Exception], FailurePolicy] = {Exception: made[policy.action]}
    return by_class | {_ERRORS[kind]: made[action] for kind, action in policy.by_kind}
