"""What becomes of a record whose handler failed, in a process that goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shardlane.consumer.counters import Counters
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.consumer.outage import Outage
from shardlane.consumer.quarantine import Parking, Quarantine
from shardlane.errors import ParkingError
from shardlane.outcome import Drop
from shardlane.parking.answers import MOST_BEHIND
from shardlane.policy import Action, Policies, Verdict

_log = logging.getLogger(__name__)

_PARK_AGAIN_S = 1.0
"""Before parking is tried again, on average: the store's own retries are behind us."""


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
        quarantine: Quarantine | None = None,
    ) -> None:
        """``quarantine``: needed by policies that park. ``draw``: random in [0, 1)."""
        self._desk = desk
        self._policies = policies
        self._counters = counters
        self._clock_s = clock_s
        self._draw = draw
        self.held: dict[Delivery, Held] = {}
        self._quarantine = quarantine
        self._quarantined = quarantine.keys if quarantine is not None else frozenset[str]()
        self._outage = Outage(policies.max_new_keys) if policies.gives_up else None

    def is_quarantined(self, delivery: Delivery) -> bool:
        """Whether it is to be parked behind its key (``park_behind``) and not to be handled. May
        be asked from every thread."""
        if not self._quarantined:
            return delivery.parked
        return delivery.parked or delivery.record.partition_key in self._quarantined

    async def park_behind(self, delivery: Delivery, others: Sequence[Delivery] = ()) -> bool:
        """Parks a delivery of a quarantined key that was taken, and with it what waits behind it:
        ``others``, which were taken too, first. Returns whether it is to be handled after all:
        then the quarantine is over."""
        assert self._quarantine is not None
        if delivery.parked:
            self._after_parking(delivery, Parking.PARKED)
            return False
        answer = await self._quarantine.park_behind(delivery, self._behind(delivery, others))
        if answer is Parking.LIFTED and self._desk.may_start(delivery):
            return True
        if answer is Parking.LIFTED:
            self.forget(delivery)  # its deadline has passed meanwhile
        else:
            self._after_parking(delivery, answer)
        return False

    def handled(self, delivery: Delivery) -> None:
        """The handler returned."""
        self._counters.handled += 1
        if self._outage is not None:
            self._outage.saw(delivery.record.partition_key)
        if self.held:
            self.held.pop(delivery, None)
        self._desk.settle(delivery)

    async def failed(self, delivery: Delivery, error: Exception) -> bool:
        """The handler raised. Returns whether the record's key is set aside now."""
        delivery.failures += 1
        self._counters.failures += 1
        verdict = self._policies.judge(error, delivery.failures, self._draw())
        if not isinstance(error, Drop):
            verdict = self._unless_outage(delivery, verdict)
        if verdict.action is Action.DROP:
            self._drop(delivery, verdict)
            return False
        if verdict.action is Action.PARK:
            verdict = await self._park(delivery, verdict)
            if verdict.action is Action.PARK:
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

    def _behind(self, delivery: Delivery, others: Sequence[Delivery]) -> list[Delivery]:
        """For one transaction: an owner check is about one shard, a gate about one key."""
        key = delivery.record.partition_key
        waiting = [*others, *self._desk.behind(delivery, MOST_BEHIND)]
        mine = [each for each in waiting if each.record.partition_key == key and not each.parked]
        return [each for each in mine if each.reading is delivery.reading][: MOST_BEHIND - 1]

    def _unless_outage(self, delivery: Delivery, verdict: Verdict) -> Verdict:
        """The verdict, or ``STOP`` while so many keys fail that none is to be given up on."""
        if self._outage is None or verdict.action not in (Action.PARK, Action.DROP):
            return verdict
        if self._outage.admits(delivery.record.partition_key, self._clock_s()):
            quarantine = self._quarantine
            if verdict.action is not Action.PARK or quarantine is None or not quarantine.is_full:
                return verdict
            quarantine.look_again()
        return Verdict(Action.STOP, f"many keys fail, so it stays: {verdict.reason}")

    async def _park(self, delivery: Delivery, verdict: Verdict) -> Verdict:
        """Returns ``STOP`` if the lot refuses the record for good."""
        assert self._quarantine is not None  # a policy that parks has a lot
        record = delivery.record
        try:
            answer = await self._quarantine.park_first(delivery, verdict.reason)
        except ParkingError as error:
            return Verdict(Action.STOP, f"cannot be parked ({error}): {verdict.reason}")
        if answer is Parking.PARKED:
            _log.error(
                "%s: parked %s after %d attempts, and its key waits with it: %s",
                record.shard_id,
                record.sequence_number,
                delivery.failures,
                verdict.reason,
            )
        self._after_parking(delivery, answer)
        return verdict

    def _after_parking(self, delivery: Delivery, answer: Parking) -> None:
        if answer is Parking.PARKED:
            self._counters.parked += 1
            self.held.pop(delivery, None)
            self._desk.settle(delivery)
        elif answer is Parking.NOT_OWNER:
            self.forget(delivery)
        else:  # lifted, or nobody knows: when it starts again, what is right then is done
            wait_s = 0.0 if answer is Parking.LIFTED else _PARK_AGAIN_S * 2 * self._draw()
            self._desk.set_aside(delivery, self._clock_s() + wait_s)

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
