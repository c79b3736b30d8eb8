"""The records of one invocation and what became of each: decisions only, no I/O and no clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shardlane.breaker import Breaker, most_failing_keys
from shardlane.lambda_batch import LambdaBatch
from shardlane.outcome import Drop
from shardlane.policy import Action, Policies, Verdict
from shardlane.record import Record
from shardlane.schedule import Schedule

MOST_FAILURES_SHOWN = 5
"""A batch may hold 10,000 records that all fail for one reason; a few show it."""


class Failure(NamedTuple):
    """One record that did not get through, for the log."""

    record: Record
    action: Action
    """What was decided: STOP, PARK or DROP."""
    reason: str
    attempts: int


class BatchOutcome(NamedTuple):
    """What became of an invocation's records; counts are of inner records if aggregated."""

    received: int
    handled: int
    dropped: int
    parked: int
    unsettled: int
    """Failed, still running at the deadline, or not started: they are delivered again."""
    failed: int
    """Records that failed for good in this invocation, whatever the policy made of them."""
    retries: int
    first_failures: tuple[Failure, ...]
    blocked: str | None
    """Why nothing was started at all, if so."""
    outage: bool
    """Whether so many keys failed or are quarantined that nothing more was parked or dropped."""
    quarantined: int | None
    """Keys that are; ``None`` without a lot, or if it could not be read."""
    oldest_quarantine_ms: int | None
    """Since when (epoch milliseconds) the oldest one has been; ``None`` if it is this invocation's
    or there is none."""
    first_unsettled: str | None
    """The lowest unsettled outer sequence number: the one identifier that is reported."""


class _Counts:
    """What the outcome will say, so far. No dataclass: making one takes longer than a batch."""

    __slots__ = ("blocked", "dropped", "failed", "first_failures", "outage", "parked", "retries")

    def __init__(self) -> None:
        self.dropped = 0
        self.parked = 0
        self.retries = 0
        self.blocked: str | None = None
        self.outage = False
        self.failed: set[int] = set()
        self.first_failures: dict[int, Failure] = {}
        """By position: what failed for good, and then could not be parked, is one failure."""


class KeyedBatch:
    """Wires records, schedule and policies; ``steps`` and a driver take positions and report back
    what came of them."""

    __slots__ = (
        "_attempts",
        "_breaker",
        "_counts",
        "_draw",
        "_policies",
        "oldest_quarantine_ms",
        "quarantined",
        "records",
        "schedule",
    )

    def __init__(self, records: LambdaBatch, policies: Policies, draw: Callable[[], float]) -> None:
        """``draw`` gives random numbers in [0, 1), for the waits between attempts."""
        self.records = records
        self.schedule = Schedule(records.keys)
        self.quarantined: set[str] = set()
        """Keys whose records are parked behind one another instead of handled."""
        self.oldest_quarantine_ms: int | None = None
        """Since when the oldest of them has been one, before this invocation."""
        self._policies = policies
        self._draw = draw
        self._attempts: dict[int, int] = {}
        """Failed attempts by position."""
        self._breaker: Breaker | None = None
        self._counts = _Counts()

    def start_nothing(self, reason: str) -> None:
        """Leaves the whole batch for the next invocation."""
        self._counts.blocked = reason
        self.schedule.stop()

    def attempts(self, position: int) -> int:
        """How many attempts on a record have failed in this invocation."""
        return self._attempts.get(position, 0)

    def failed(self, position: int, error: Exception, now_s: float) -> Verdict:
        """Decides about a failed attempt and carries the decision out in the schedule; after a
        ``PARK`` the position is still taken, until ``parked`` or ``give_back``."""
        attempts = self._attempts[position] = self.attempts(position) + 1
        verdict = self._policies.judge(error, attempts, self._draw())
        if verdict.action is Action.RETRY:
            self._counts.retries += 1
            self.schedule.retry_at(position, now_s + verdict.wait_ms / 1000)
            return verdict
        return self._conclude(position, verdict, asked_for=isinstance(error, Drop))

    def overran(self, position: int, ran_s: float) -> Verdict:
        """Decides about a handler that is still running when the invocation has to answer."""
        self._attempts[position] = self.attempts(position) + 1
        error = TimeoutError(f"time-out: the handler was still running after {ran_s:.1f} s")
        return self._conclude(position, self._policies.final(error), asked_for=False)

    def parked(self, position: int) -> None:
        """The record that was taken is in the lot."""
        self._counts.parked += 1
        self.schedule.settle(position)

    def parked_behind(self, positions: Sequence[int]) -> None:
        """Records that were not taken are in the lot, behind one of their key that was."""
        self._counts.parked += len(positions)
        self.schedule.settle_behind(positions)

    def give_back(self, position: int, reason: str) -> None:
        """The record that was taken stays unfinished, whatever the policy says."""
        self._note(position, Verdict(Action.STOP, reason))
        self.schedule.fail(position)

    def _conclude(self, position: int, verdict: Verdict, *, asked_for: bool) -> Verdict:
        settles = verdict.action in (Action.PARK, Action.DROP) and not asked_for
        if settles and not self._admits(position, verdict.action):
            self._counts.outage = True
            verdict = Verdict(Action.STOP, f"many keys fail, so it stays: {verdict.reason}")
        self._note(position, verdict)
        if verdict.action is Action.DROP:
            self._counts.dropped += 1
            self.schedule.settle(position)
        elif verdict.action is Action.STOP:
            self.schedule.fail(position)
        return verdict

    def _admits(self, position: int, action: Action) -> bool:
        """Whether one more key may be given up on: an outage is not poison."""
        if self._breaker is None:
            most = self._policies.max_new_keys
            keys = len(set(self.records.keys))
            self._breaker = Breaker(most if most is not None else most_failing_keys(keys))
        if not self._breaker.admits(self.records.keys[position]):
            return False
        lot = self._policies.lot
        full = lot is not None and len(self.quarantined) >= lot.max_quarantined
        return not (full and action is Action.PARK)

    def outcome(self) -> BatchOutcome:
        """The state of things now; a driver that has left asks for it once."""
        unsettled = self.schedule.unsettled()
        counts = self._counts
        return BatchOutcome(
            received=len(self.records),
            handled=len(self.records) - len(unsettled) - counts.dropped - counts.parked,
            dropped=counts.dropped,
            parked=counts.parked,
            unsettled=len(unsettled),
            failed=len(counts.failed),
            retries=counts.retries,
            blocked=counts.blocked,
            outage=counts.outage,
            first_failures=tuple(counts.first_failures.values()),
            quarantined=self._quarantined_keys(),
            oldest_quarantine_ms=self.oldest_quarantine_ms,
            first_unsettled=self._lowest(unsettled),
        )

    def _quarantined_keys(self) -> int | None:
        if self._policies.lot is None or self._counts.blocked is not None:
            return None
        return len(self.quarantined)

    def _lowest(self, positions: Sequence[int]) -> str | None:
        # As integers: "10" is less than "9" as text. Ties are one outer record.
        numbers = (self.records.sequence_numbers[position] for position in positions)
        return min(numbers, key=int, default=None)

    def _note(self, position: int, verdict: Verdict) -> None:
        failed = self._counts.failed
        failed.add(position)
        if len(failed) <= MOST_FAILURES_SHOWN:
            record, attempts = self.records.record(position), self.attempts(position)
            self._counts.first_failures[position] = Failure(
                record, verdict.action, verdict.reason, attempts
            )
