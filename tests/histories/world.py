"""Plays a history: a stream, its mapping, the function, its parking lot and redrives of it, in
virtual time. The local mapping is the oracle of what the service would do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from shardlane import ParkingLot
from shardlane.errors import RedriveRefused, StoreUnavailable
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import Answer, Redriver, Sent
from shardlane.parking.redrive_marker import reason_in
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.trial import MappingTrial, TrialSettings
from shardlane_lab.virtual_time import EPOCH_MS
from tests.histories.faulty_store import Crash, FaultyStore
from tests.histories.function import Function, Kind
from tests.histories.history import Call, Deed, Fault, History, Put
from tests.histories.ledger import Ledger
from tests.unit.shardlane.packed import packed

CONSUMER = "billing"
SETTLES_WITHIN_S = 20_000.0
MOST_REDRIVES = 60
"""Of a key until its lot is empty: every record of it may fail some times, and crash some."""
HOLD_S = 61.0
"""A redrive holds a key for the consumer's time-out and a minute."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a history."""

    breaches: tuple[str, ...]
    trace: tuple[str, ...]
    records: int
    handled: int
    dropped: int
    given_up: int
    """By the mapping, and not handled before."""
    parked: int
    """How often a record was put into the lot."""
    inversions: int
    duplicates: int
    crashes: int
    throttles: int
    invocations: int
    waited_s: float
    """Of the records whose key never fails, from arrival to their first effect, in total."""
    waiting: int
    """How many records those are."""
    store_calls: int


def play(history: History, kind: Kind = "ours") -> Played:
    world = _World(history, kind)
    try:
        with world.trial:
            world.run()
    finally:
        world.function.close()
    return world.played()


class _World:
    def __init__(self, history: History, kind: Kind) -> None:
        self.history, self.setting = history, history.setting
        self.random = Random(f"{history.seed}/play")
        self.scripts: dict[int, list[Call]] = {}
        self._memory = MemoryParkingStore()
        faults = [each for each in history.events if isinstance(each, Fault)]
        self._faulty = FaultyStore(self._memory, faults)
        self.lot = ParkingLot(consumer=CONSUMER, store=self._faulty.store)
        self.ledger = Ledger(self.setting.policy, self._is_parked)
        self._given_up_seen = 0
        self._parked_ever: set[int] = set()
        self.function = Function(self, kind)
        self.trial = MappingTrial(self._invoked, self._config(), self._trial_settings())

    # What the function sees

    def gates(self) -> set[str]:
        return {gate.key for gate in self._memory.gates(CONSUMER)}

    def now_s(self) -> float:
        return self.trial.now_s

    # The play

    def run(self) -> None:
        for event in self.history.events:
            if isinstance(event, Fault):
                continue
            self.trial.run(max(0.0, event.at_s - self.trial.now_s))
            self._do(event)
        self._settle()
        self._drain()
        self._look()
        self.ledger.check_end()

    def played(self) -> Played:
        ledger = self.ledger
        failing = {each.key for each in ledger.records if each.failing}
        waits = [
            at_s - ledger.records[number].at_s
            for number, at_s in ledger.first_effect_s.items()
            if ledger.records[number].key not in failing
        ]
        return Played(
            breaches=tuple(ledger.breaches),
            trace=tuple(ledger.trace),
            records=len(ledger.records),
            handled=len(ledger.effects),
            dropped=len(ledger.dropped - set(ledger.effects)),
            given_up=len(ledger.given_up - set(ledger.effects) - ledger.dropped),
            parked=len(self._parked_ever),
            inversions=ledger.inversions,
            duplicates=sum(ledger.effects.values()) - len(ledger.effects),
            crashes=self._faulty.crashes,
            throttles=self._faulty.throttles,
            invocations=len(self.trial.invocations),
            waited_s=sum(waits),
            waiting=len(waits),
            store_calls=self._faulty.calls,
        )

    def _do(self, event: Put | Deed) -> None:
        if isinstance(event, Put):
            self._put(event)
        elif event.kind == "split":
            self._split()
        elif event.kind == "restart":
            self.trial.stop()
            self.trial.start()
        else:
            self._redrive_all()

    def _put(self, put: Put) -> None:
        first = len(self.ledger.records)
        inner = [
            (key, json.dumps({"n": first + place}).encode()) for place, key in enumerate(put.keys)
        ]
        data = inner[0][1] if len(inner) == 1 else packed(inner)
        self.scripts[first] = list(put.calls)
        number = self.trial.put(data, put.keys[0])
        for place, key in enumerate(put.keys):
            at_s = self.trial.now_s
            self.ledger.put(key, at_s, (number, place), failing=bool(put.calls))

    def _split(self) -> None:
        shards = self.trial.kinesis("ListShards")["Shards"]
        opened = [
            each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]
        ]
        hashes = opened[0]["HashKeyRange"]
        middle = (int(hashes["StartingHashKey"]) + int(hashes["EndingHashKey"])) // 2
        try:
            self.trial.kinesis(
                "SplitShard", ShardToSplit=opened[0]["ShardId"], NewStartingHashKey=str(middle)
            )
        except ServiceError as error:
            if error.code not in ("ResourceInUseException", "LimitExceededException"):
                raise  # while the last split is under way

    def _settle(self) -> None:
        try:
            self.trial.settle(SETTLES_WITHIN_S)
        except TimeoutError as error:
            self.ledger.breach(str(error))

    # Redrives

    def _drain(self) -> None:
        """Redrives until no key is quarantined any more; the mapping has nothing left to do, and
        its polls would take most of the time."""
        self.trial.stop()
        for _ in range(MOST_REDRIVES):
            if not self._memory.gates(CONSUMER):
                return
            self.trial.run(HOLD_S + self.setting.timeout_s)
            self._redrive_all()

    def _redrive_all(self) -> None:
        for gate in self._memory.gates(CONSUMER):
            redriver = Redriver(
                self._faulty.store,
                CONSUMER,
                self._send,
                timeout_ms=round(self.setting.timeout_s * 1_000),
                clock=_RedriversClock(self.trial.now_s),
                draw=self.random.random,
                run_id=lambda: f"{self.random.random()}",
            )
            try:
                redriver.redrive(gate.key_hash)
            except (Crash, StoreUnavailable):
                continue  # its hold runs out by itself

    def _send(self, marked: dict[str, Any]) -> Sent:
        try:
            response = self.function.invoke({"Records": [marked]}, from_mapping=False)
        except SystemExit:
            return Sent(Answer.FAILED, "the process ended")
        except (RedriveRefused, StoreUnavailable) as error:
            return Sent(Answer.NOT_RUN, str(error))
        _, reason = reason_in(response)
        if response["batchItemFailures"]:
            return Sent(Answer.FAILED, reason or "")
        return Sent(Answer.HANDLED)

    # The mapping

    async def _invoked(self, event: dict[str, Any], context: Any) -> Any:
        self._look()
        try:
            return await self.function(event, context)
        finally:
            self._parked_ever |= {
                number for number in range(len(self.ledger.records)) if self._is_parked(number)
            }

    def _look(self) -> None:
        """What the mapping did since: records given up, checkpoints."""
        if not hasattr(self, "trial"):
            return
        for message in self.trial.on_failure[self._given_up_seen :]:
            self.ledger.gave_up(json.loads(message["payload"]))
        self._given_up_seen = len(self.trial.on_failure)
        self.ledger.check_checkpoints(self.trial.checkpoints)

    def _is_parked(self, number: int) -> bool:
        record = self.ledger.records[number]
        return any(
            (each.sequence_number, each.sub_sequence_number) == record.place
            for each in self._memory.parked(CONSUMER, key_hash(record.key))
        )

    def _config(self) -> MappingConfig:
        setting = self.setting
        return MappingConfig(
            starting_position="TRIM_HORIZON",
            batch_size=setting.batch_size,
            maximum_batching_window_s=setting.window_s,
            parallelization_factor=setting.factor,
            maximum_retry_attempts=setting.retries,
            maximum_record_age_s=setting.age_s,
            bisect_batch_on_function_error=setting.bisect,
            report_batch_item_failures=True,
            on_failure="s3",
            undocumented=setting.undocumented,
        )

    def _trial_settings(self) -> TrialSettings:
        setting = self.setting
        return TrialSettings(
            source=setting.source,
            shards=setting.shards,
            timeout_s=setting.timeout_s,
            concurrency=setting.concurrency,
            seed=self.history.seed,
        )


class _RedriversClock:
    """A machine of its own: its waits cost the function nothing."""

    def __init__(self, now_s: float) -> None:
        self._now_s = now_s

    def monotonic_s(self) -> float:
        return self._now_s

    def wall_ms(self) -> float:
        return EPOCH_MS + self._now_s * 1_000.0

    def sleep_s(self, seconds: float) -> None:
        self._now_s += seconds
