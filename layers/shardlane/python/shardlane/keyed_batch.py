"""The records of one invocation and what became of each: decisions only, no I/O and no clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shardlane.lambda_batch import LambdaBatch
from shardlane.policy import Action, Policies, Verdict
from shardlane.record import Record
from shardlane.schedule import Schedule

MOST_FAILURES_SHOWN = 5
"""A batch may hold 10,000 records that all fail for one reason; a few show it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One record that did not get through, for the log."""

    record: Record
    action: Action
    """What was decided: STOP, PARK or DROP."""
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
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
    first_unsettled: str | None
    """The lowest unsettled outer sequence number: the one identifier that is reported."""


@dataclass(slots=True)
class _Counts:
    dropped: int = 0
    parked: int = 0
    failed: int = 0
    retries: int = 0
    first_failures: list[Failure] = field(default_factory=list)


class KeyedBatch:
    """Wires records, schedule and policies; a driver takes positions and reports back."""

    __slots__ = ("_attempts", "_counts", "_draw", "_policies", "records", "schedule")

    def __init__(self, records: LambdaBatch, policies: Policies, draw: Callable[[], float]) -> None:
        """``draw`` gives random numbers in [0, 1), for the waits between attempts."""
        self.records = records
        self.schedule = Schedule(records.keys)
        self._policies = policies
        self._draw = draw
        self._attempts: dict[int, int] = {}
        """Failed attempts by position."""
        self._counts = _Counts()

    def failed(self, position: int, error: Exception, now_s: float) -> Verdict:
        """Decides about a failed attempt, and carries the decision out in the schedule."""
        attempts = self._attempts[position] = self._attempts.get(position, 0) + 1
        verdict = self._policies.judge(error, attempts, self._draw())
        if verdict.action is Action.RETRY:
            self._counts.retries += 1
            self.schedule.retry_at(position, now_s + verdict.wait_ms / 1000)
            return verdict
        self._note(position, verdict, attempts)
        if verdict.action is Action.DROP:
            self._counts.dropped += 1
            self.schedule.settle(position)
        else:
            self.schedule.fail(position)
        return verdict

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
            failed=counts.failed,
            retries=counts.retries,
            first_failures=tuple(counts.first_failures),
            first_unsettled=self._lowest(unsettled),
        )

    def _lowest(self, positions: Sequence[int]) -> str | None:
        # As integers: "10" is less than "9" as text. Ties are one outer record.
        numbers = (self.records.sequence_numbers[position] for position in positions)
        return min(numbers, key=int, default=None)

    def _note(self, position: int, verdict: Verdict, attempts: int) -> None:
        self._counts.failed += 1
        if len(self._counts.first_failures) < MOST_FAILURES_SHOWN:
            self._counts.first_failures.append(
                Failure(self.records.record(position), verdict.action, verdict.reason, attempts)
            )
