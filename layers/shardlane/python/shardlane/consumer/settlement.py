"""What becomes of a record whose handler failed, in a process that goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from shardlane.consumer.counters import Counters
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.policy import Action, Policies, Verdict

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Held:
    """A key that ``STOP`` holds up."""

    shard_id: str
    sequence_number: str
    failures: int
    since_s: float
    reason: str


class Settlement:
    """Carries out the failure policy. Runs on the event loop.

    ``STOP`` leaves the record unfinished, as in Lambda, and as there it is tried again, for ever:
    its key waits, and in the end its shard, at the bound on what is not settled.
    """

    def __init__(
        self,
        desk: Desk,
        policies: Policies,
        counters: Counters,
        clock_s: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._desk = desk
        self._policies = policies
        self._counters = counters
        self._clock_s = clock_s
        self._draw = draw
        self.held: dict[Delivery, Held] = {}

    def handled(self, delivery: Delivery) -> None:
        """The handler returned."""
        self._counters.handled += 1
        if self.held:
            self.held.pop(delivery, None)
        self._desk.settle(delivery)

    async def failed(self, delivery: Delivery, error: Exception) -> bool:
        """The handler raised. Returns whether the record's key is set aside now."""
        delivery.failures += 1
        self._counters.failures += 1
        verdict = self._policies.judge(error, delivery.failures, self._draw())
        if verdict.action is Action.DROP:
            self._drop(delivery, verdict)
            return False
        if verdict.action is Action.RETRY:
            self._counters.retries += 1
            wait_ms = verdict.wait_ms
        else:
            wait_ms = self._hold(delivery, error, verdict)
        self._desk.set_aside(delivery, self._clock_s() + wait_ms / 1000)
        return True

    def forget(self, delivery: Delivery) -> None:
        """It is no longer ours to settle."""
        self.held.pop(delivery, None)
        self._desk.release(delivery)

    def _drop(self, delivery: Delivery, verdict: Verdict) -> None:
        record = delivery.record
        self._counters.dropped += 1
        self.held.pop(delivery, None)
        _log.warning("%s: dropped %s: %s", record.shard_id, record.sequence_number, verdict.reason)
        self._desk.settle(delivery)

    def _hold(self, delivery: Delivery, error: Exception, verdict: Verdict) -> float:
        """Returns the wait before the next attempt, ms."""
        record, failures = delivery.record, delivery.failures
        before = self.held.get(delivery)
        since_s = self._clock_s() if before is None else before.since_s
        self.held[delivery] = Held(
            record.shard_id, record.sequence_number, failures, since_s, verdict.reason
        )
        if before is None:
            _log.error(
                "%s: %s failed %d times and holds up its key until it is handled: %s",
                record.shard_id,
                record.sequence_number,
                failures,
                verdict.reason,
            )
        backoff = self._policies.of(error).backoff
        return backoff.wait_ms(failures, self._draw())
