"""Plays one policy: a producer, a stream, a mapping, the function, and a redrive after the fix."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from shardlane import ParkingLot
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.redrive import Answer, End, Redriver, Sent
from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.trial import MappingTrial, TrialSettings
from shardlane_lab.poison.consumer import Consumer, Ledger
from shardlane_lab.poison.invocation_clock import InvocationClock
from shardlane_lab.poison.poison_run import HandledRecord, PoisonRun, PoisonSetting, Policy

CONSUMER = "poison"
STEP_S = 0.1
"""Records are put ten times a second, spread over the second as even as that allows."""
TIMEOUT_S = 60.0
"""Of the function."""
SETTLES_WITHIN_S = 900.0
"""After the last record was put; a mapping waits up to half a minute between two tries."""


def run_poison(policy: Policy, *, seed: int, setting: PoisonSetting | None = None) -> PoisonRun:
    """The same records for every policy of a ``seed``; virtual time, a second or two of real.

    Raises ``ValueError`` for a policy that there is not.
    """
    if policy not in ("none", "park", "stop", "powertools"):
        raise ValueError(f"policy={policy!r}: allowed is none, park, stop or powertools")
    return _Play(policy, seed, setting or PoisonSetting()).run()


class _Play:
    def __init__(self, policy: Policy, seed: int, setting: PoisonSetting) -> None:
        self._policy, self._seed, self._setting = policy, seed, setting
        self._keys = Random(f"{seed}/keys")
        self._draw = Random(f"{seed}/waits")
        self._ledger = Ledger(self._is_poison)
        self._arrivals_s: list[float] = []
        self._poison_from: int | None = None
        self._store = MemoryParkingStore()
        self._lot = ParkingLot(consumer=CONSUMER, store=self._store)
        self._most_quarantined = 0
        self._consumer = self._sandbox()
        self._trial = MappingTrial(
            self._consumer,
            MappingConfig(
                starting_position="TRIM_HORIZON",
                batch_size=setting.batch_size,
                report_batch_item_failures=True,
            ),
            TrialSettings(timeout_s=TIMEOUT_S, seed=seed),
        )

    def run(self) -> PoisonRun:
        setting = self._setting
        with self._trial:
            for step in range(round(setting.seconds / STEP_S)):
                at_s = step * STEP_S
                self._pass_to(at_s)
                if at_s >= setting.fixed_s:
                    self._redrive()
                self._put(round((at_s + STEP_S) * setting.records_per_s) - len(self._arrivals_s))
            self._trial.settle(SETTLES_WITHIN_S)
            self._redrive()
        return self._result()

    def _pass_to(self, at_s: float) -> None:
        self._trial.run(max(0.0, at_s - self._trial.now_s))
        self._most_quarantined = max(self._most_quarantined, len(self._store.gates(CONSUMER)))

    def _put(self, count: int) -> None:
        now_s = self._trial.now_s
        if self._poison_from is None and now_s >= self._setting.poison_from_s:
            self._poison_from = len(self._arrivals_s)
        keys = [f"key-{self._keys.randrange(self._setting.keys):04d}" for _ in range(count)]
        self._trial.put_all([({"n": self._ledger.put(key)}, key) for key in keys])
        self._arrivals_s += [now_s] * count

    # The consumer

    def _sandbox(self) -> Consumer:
        clock = InvocationClock(lambda: self._trial.now_s)
        return Consumer(self._policy, self._setting, self._ledger, self._lot, clock, self._draw)

    def _is_poison(self, index: int, now_s: float) -> bool:
        first = self._poison_from
        if self._policy == "none" or first is None or now_s >= self._setting.fixed_s:
            return False
        if self._setting.everything:
            return True
        return index >= first and self._ledger.key_of[index] == self._ledger.key_of[first]

    def _redrive(self) -> None:
        for gate in self._store.gates(CONSUMER):
            sandbox = self._sandbox()
            # What the invocation under way has parked already, it parks a little later.
            sandbox.clock.begin(self._consumer.clock.monotonic_s())
            redriver = Redriver(
                self._store,
                CONSUMER,
                lambda entry, sandbox=sandbox: _sent(sandbox, entry),  # type: ignore[misc]
                timeout_ms=round(TIMEOUT_S * 1_000),
                clock=sandbox.clock,
            )
            end = redriver.redrive(gate.key_hash).end
            if end is not End.LIFTED:
                raise RuntimeError(f"the redrive of {gate.key} after the fix ended as {end.value}")

    # The result

    def _result(self) -> PoisonRun:
        assert self._poison_from is not None  # the setting lets it begin before the last record
        return PoisonRun(
            policy=self._policy,
            seed=self._seed,
            setting=self._setting,
            poison_key=self._ledger.key_of[self._poison_from],
            records=tuple(self._records()),
            inversions=self._ledger.inversions,
            most_quarantined=self._most_quarantined,
        )

    def _records(self) -> Iterator[HandledRecord]:
        ledger = self._ledger
        for index, arrival_s in enumerate(self._arrivals_s):
            yield HandledRecord(
                index,
                ledger.key_of[index],
                arrival_s,
                ledger.done_s[index],
                ledger.calls[index],
                ledger.effects[index],
            )


def _sent(sandbox: Consumer, entry: dict[str, Any]) -> Sent:
    response = sandbox.process({"Records": [entry]})
    return Sent(Answer.FAILED if response["batchItemFailures"] else Answer.HANDLED)
