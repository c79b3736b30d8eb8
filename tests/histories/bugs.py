"""Bugs that a keyed batch processor may have, put into ours: the oracle has to find each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from shardlane import attempt, invocation, policy, steps
from shardlane.breaker import Breaker
from shardlane.drivers import event_loop, inline
from shardlane.errors import StoreUnavailable
from shardlane.keyed_batch import KeyedBatch
from shardlane.lambda_batch import LambdaBatch
from shardlane.parking import desk, redrive
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.policy import Action, Verdict
from shardlane.processor import KeyedBatchProcessor
from shardlane.schedule import Schedule

Bug = Callable[[pytest.MonkeyPatch], None]


def goes_on_with_the_key_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    """What other processors do: later records run before the failed one is delivered again."""

    def fail(self: Schedule, position: int) -> None:
        self.running -= 1
        self._release(position)

    patch.setattr(Schedule, "fail", fail)


def a_key_may_run_twice_at_once(patch: pytest.MonkeyPatch) -> None:
    """No claim on a key while one of its records is running."""
    take = Schedule.take

    def unclaimed(self: Schedule) -> int | None:
        position = take(self)
        if position is not None:
            self._claimed.pop(self._keys[position], None)
        return position

    def settle(self: Schedule, position: int) -> None:
        self._settled[position] = 1
        self.running -= 1

    patch.setattr(Schedule, "take", unclaimed)
    patch.setattr(Schedule, "settle", settle)


def a_retry_lets_its_key_go(patch: pytest.MonkeyPatch) -> None:
    """A record that waits for its next attempt does not hold its key."""
    retry_at = Schedule.retry_at

    def letting_go(self: Schedule, position: int, due_s: float) -> None:
        retry_at(self, position, due_s)
        self._release(position)
        self._claimed.setdefault(self._keys[position], None)

    patch.setattr(Schedule, "retry_at", letting_go)


def reports_the_highest_failure(patch: pytest.MonkeyPatch) -> None:
    def highest(self: KeyedBatch, positions: Sequence[int]) -> str | None:
        numbers = (self.records.sequence_numbers[position] for position in positions)
        return max(numbers, key=int, default=None)

    patch.setattr(KeyedBatch, "_lowest", highest)


def reports_every_failure(patch: pytest.MonkeyPatch) -> None:
    """As Powertools does; the service takes the lowest, but a filter that relies on one is off."""
    response = KeyedBatchProcessor.response

    def everything(self: KeyedBatchProcessor) -> Any:
        one = response(self)
        return {**one, "batchItemFailures": one["batchItemFailures"] * 2}

    patch.setattr(KeyedBatchProcessor, "response", everything)


def reports_failures_only(patch: pytest.MonkeyPatch) -> None:
    """What was not started counts as handled."""
    outcome = KeyedBatch.outcome

    def forgetful(self: KeyedBatch) -> Any:
        found = outcome(self)
        return found if found.failed else found._replace(first_unsettled=None)

    patch.setattr(KeyedBatch, "outcome", forgetful)


def starts_although_the_quarantine_is_unknown(patch: pytest.MonkeyPatch) -> None:
    def careless(batch: KeyedBatch, of: desk.ParkingDesk) -> bool:
        try:
            batch.quarantined = of.quarantined_keys()
        except StoreUnavailable:
            batch.quarantined = set()
        return True

    patch.setattr(invocation, "_knows_quarantine", careless)


def does_not_read_the_quarantine(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(desk.ParkingDesk, "quarantined_keys", lambda self: set())


class _Deaf(set[str]):
    """A set of keys that nobody can be added to."""

    def add(self, key: str) -> None: ...


def forgets_that_it_quarantined_a_key(patch: pytest.MonkeyPatch) -> None:
    real = desk.ParkingDesk.quarantined_keys
    patch.setattr(desk.ParkingDesk, "quarantined_keys", lambda self: _Deaf(real(self)))


def what_cannot_be_parked_counts_as_parked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeyedBatch, "give_back", lambda self, position, reason: self.parked(position))


def parks_behind_only_the_first_and_settles_all(patch: pytest.MonkeyPatch) -> None:
    real = desk.ParkingDesk.park_behind

    def careless(self: desk.ParkingDesk, records: Any, *more: Any) -> desk.Settled:
        settled = real(self, records[:1], *more)
        return settled if settled.lifted else desk.Settled(tuple(range(len(records))), False)

    patch.setattr(desk.ParkingDesk, "park_behind", careless)


def an_overrun_counts_as_handled(patch: pytest.MonkeyPatch) -> None:
    """A handler that is still running at the margin is taken for done."""

    def settled(batch: KeyedBatch, started_s: Any, *_: Any) -> Any:
        for position in started_s:
            batch.schedule.settle(position)
        return iter(())

    patch.setattr(event_loop, "park_overrun", settled)


def the_end_of_the_process_counts_as_handled(patch: pytest.MonkeyPatch) -> None:
    """``SystemExit`` in a handler is swallowed."""
    real = attempt.attempt

    def swallowing(call: Any, record: Any) -> Exception | None:
        try:
            return real(call, record)
        except SystemExit:
            return None

    patch.setattr(inline, "attempt", swallowing)
    patch.setattr("shardlane.drivers.effects.attempt", swallowing)


def an_aggregate_is_its_first_record(patch: pytest.MonkeyPatch) -> None:
    unpack = LambdaBatch._unpack_last

    def first_only(self: LambdaBatch) -> None:
        before = len(self)
        unpack(self)
        for column in (self.keys, self.sequence_numbers, self._sources):
            del column[before:]

    patch.setattr(LambdaBatch, "_unpack_last", first_only)


def an_aggregates_records_share_its_outer_key(patch: pytest.MonkeyPatch) -> None:
    unpack = LambdaBatch._unpack_last

    def outer_key(self: LambdaBatch) -> None:
        before, key = len(self) - 1, self.keys[-1]
        unpack(self)
        self.keys[before:] = [key] * (len(self) - before)

    patch.setattr(LambdaBatch, "_unpack_last", outer_key)


def a_failure_that_stops_is_dropped(patch: pytest.MonkeyPatch) -> None:
    final = policy.Policies.final

    def dropping(self: policy.Policies, error: Exception) -> Verdict:
        verdict = final(self, error)
        return verdict._replace(action=Action.DROP) if verdict.action is Action.STOP else verdict

    patch.setattr(policy.Policies, "final", dropping)


def drops_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    outcome = KeyedBatch.outcome
    patch.setattr(KeyedBatch, "outcome", lambda self: outcome(self)._replace(dropped=0))


def the_breaker_never_opens(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Breaker, "admits", lambda self, key: True)


def a_redrive_does_not_wait_for_its_hold(patch: pytest.MonkeyPatch) -> None:
    """… and lifts without asking whether something was parked meanwhile, and forgets it."""

    def lift(self: MemoryParkingStore, consumer: str, hash_: str, *_: Any) -> bool:
        self._lots.pop((consumer, hash_), None)
        return self._gates.pop((consumer, hash_), None) is not None

    real = redrive.Redriver._head
    heads = iter(range(10**6))

    def head(self: redrive.Redriver, marker: Any) -> Any:
        return None if next(heads) % 3 == 2 else real(self, marker)

    patch.setattr(MemoryParkingStore, "lift", lift)
    patch.setattr(redrive.Redriver, "_head", head)


def a_redrive_skips_what_fails(patch: pytest.MonkeyPatch) -> None:
    def skip(self: redrive.Redriver, marker: Any, head: Any, *_: Any) -> redrive.Redriven:
        self._store.remove(head)
        self._store.release(marker.consumer, marker.key_hash, marker.holder)
        return redrive.Redriven(redrive.End.FAILED, 0)

    patch.setattr(redrive.Redriver, "_stopped", skip)


def a_redriven_record_is_parked_by_its_policy(patch: pytest.MonkeyPatch) -> None:
    """A redrive's invocation is taken for the mapping's: the record is already parked, so it
    counts as settled and leaves the lot unhandled."""
    patch.setattr(invocation, "_is_redriven", lambda *_: False)


def parks_behind_without_a_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryParkingStore, "_has_gate", lambda self, at: True)
    patch.setattr(MemoryParkingStore, "_bump", lambda self, at, count: None)


def a_failed_way_ends_as_handled(patch: pytest.MonkeyPatch) -> None:
    """After the last attempt under a policy that parks, nothing is asked of the lot."""

    def nothing(batch: KeyedBatch, position: int, *_: Any) -> Any:
        batch.schedule.settle(position)
        return
        yield

    patch.setattr(steps, "park", nothing)


BUGS: tuple[Bug, ...] = (
    goes_on_with_the_key_after_a_failure,
    a_key_may_run_twice_at_once,
    a_retry_lets_its_key_go,
    reports_the_highest_failure,
    reports_every_failure,
    reports_failures_only,
    starts_although_the_quarantine_is_unknown,
    does_not_read_the_quarantine,
    forgets_that_it_quarantined_a_key,
    what_cannot_be_parked_counts_as_parked,
    parks_behind_only_the_first_and_settles_all,
    an_overrun_counts_as_handled,
    the_end_of_the_process_counts_as_handled,
    an_aggregate_is_its_first_record,
    an_aggregates_records_share_its_outer_key,
    a_failure_that_stops_is_dropped,
    drops_are_not_counted,
    the_breaker_never_opens,
    a_redrive_does_not_wait_for_its_hold,
    a_redrive_skips_what_fails,
    a_redriven_record_is_parked_by_its_policy,
    parks_behind_without_a_gate,
    a_failed_way_ends_as_handled,
)

SEARCHED_FROM: Mapping[Bug, int] = {
    starts_although_the_quarantine_is_unknown: 125,
    the_breaker_never_opens: 130,
}
"""Where to begin the search for a seed that breaks, for bugs that few histories meet."""
