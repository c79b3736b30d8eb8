"""The consumer function of a poison run, under each policy."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BasePartialBatchProcessor,
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.kinesis_stream_event import KinesisStreamRecord

from shardlane import FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane_lab.poison.invocation_clock import InvocationClock
from shardlane_lab.poison.poison_run import PoisonSetting, Policy

_silent = logging.Logger("shardlane-poison", logging.CRITICAL)
"""A run fails thousands of times on purpose."""


class Poison(Exception):
    """What the handler raises for a record that it cannot handle."""


@dataclass
class Ledger:
    """What handlers did, by a record's place in the stream."""

    is_poison: Callable[[int, float], bool]
    """Whether a record cannot be handled at a time in seconds."""
    key_of: list[str] = field(default_factory=list)
    calls: dict[int, int] = field(default_factory=dict)
    effects: dict[int, int] = field(default_factory=dict)
    done_s: dict[int, float] = field(default_factory=dict)
    inversions: int = 0
    _unhandled: dict[str, list[int]] = field(default_factory=dict)

    def put(self, key: str) -> int:
        index = len(self.key_of)
        self.key_of.append(key)
        self._unhandled.setdefault(key, []).append(index)
        return index

    def start(self, index: int) -> None:
        self.calls[index] = self.calls.get(index, 0) + 1
        unhandled = self._unhandled[self.key_of[index]]
        if unhandled and unhandled[0] < index:
            self.inversions += 1

    def succeed(self, index: int, now_s: float) -> None:
        self.effects[index] = self.effects.get(index, 0) + 1
        if index not in self.done_s:
            self.done_s[index] = now_s
            self._unhandled[self.key_of[index]].remove(index)


class Consumer:
    """One sandbox of the function: call it as Lambda would."""

    def __init__(
        self,
        policy: Policy,
        setting: PoisonSetting,
        ledger: Ledger,
        lot: ParkingLot,
        clock: InvocationClock,
        draw: Random,
    ) -> None:
        self.clock = clock
        self._work_s = setting.work_ms / 1_000.0
        self._ledger = ledger
        self._processor, self._handler = self._processed_by(policy, setting, lot, draw)

    async def __call__(self, event: dict[str, Any], context: Any) -> Any:
        self.clock.begin()
        response = self.process(event)
        await self.clock.pass_time()
        return response

    def process(self, event: dict[str, Any]) -> Any:
        # Without Lambda's context: every invocation ends long before its time-out, and the
        # processor's threads would wait for real.
        return process_partial_response(
            event=event, record_handler=self._handler, processor=self._processor
        )

    def _processed_by(
        self, policy: Policy, setting: PoisonSetting, lot: ParkingLot, draw: Random
    ) -> tuple[BasePartialBatchProcessor, Callable[[Any], None]]:
        if policy == "powertools":
            return BatchProcessor(event_type=EventType.KinesisDataStreams), self._handle_powertools
        on_failure = (
            FailurePolicy.stop()
            if policy == "stop"
            else FailurePolicy.park(lot, attempts=setting.attempts)
        )
        ours = KeyedBatchProcessor(
            on_failure=on_failure, clock=self.clock, draw=draw.random, logger=_silent
        )
        ours.metrics = None  # they go to standard output
        return ours, self._handle

    def _handle(self, record: Record) -> None:
        self._do(record.json()["n"])

    def _handle_powertools(self, record: KinesisStreamRecord) -> None:
        self._do(json.loads(record.kinesis.data_as_text())["n"])

    def _do(self, index: int) -> None:
        ledger = self._ledger
        ledger.start(index)
        self.clock.sleep_s(self._work_s)
        now_s = self.clock.monotonic_s()
        if ledger.is_poison(index, now_s):
            raise Poison(f"record {index}")
        ledger.succeed(index, now_s)
