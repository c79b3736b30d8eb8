"""What handlers did and what the mapping made of it, held against the delivery contract."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shardlane.aggregate import unpack
from shardlane_lab.local_lambda.checkpoint import After, Checkpoint, ShardEnd
from tests.histories.history import Call, Policy

Place = tuple[str, int]
"""Outer sequence number, and place within an aggregate."""


@dataclass
class Entered:
    """A record that was put."""

    key: str
    at_s: float
    place: Place
    failing: bool
    """Whether any record of the same put is to fail."""


@dataclass
class InvocationNote:
    """What one invocation was given and did."""

    outer: dict[str, list[int]]
    """By sequence number, in the event's order: the records in it."""
    from_mapping: bool
    started: set[int] = field(default_factory=set)
    failures: Counter[int] = field(default_factory=Counter)
    given_up_on: set[int] = field(default_factory=set)
    """Failed for good under a policy that drops, or dropped by the handler."""
    gates: set[str] = field(default_factory=set)
    by_hand: set[str] = field(default_factory=set)
    """Keys that the handler parked itself."""


class Ledger:
    """Every record of a history by its number, in the order in which they were put."""

    def __init__(self, policy: Policy, is_parked: Callable[[int], bool]) -> None:
        """``is_parked``: whether a record is in the lot now."""
        self.records: list[Entered] = []
        self.breaches: list[str] = []
        self.inversions = 0
        self.effects: Counter[int] = Counter()
        self.first_effect_s: dict[int, float] = {}
        self.dropped: set[int] = set()
        self.given_up: set[int] = set()
        self.counted_drops = 0
        """As the processor counted them."""
        self.trace: list[str] = []
        self._policy = policy
        self._is_parked = is_parked
        self._running: dict[str, int] = {}
        self._delivered: dict[str, set[int]] = {}
        self._note: InvocationNote | None = None

    def put(self, key: str, at_s: float, place: Place, *, failing: bool) -> None:
        self.records.append(Entered(key, at_s, place, failing))

    def is_settled(self, number: int) -> bool:
        return (
            number in self.effects
            or number in self.dropped
            or number in self.given_up
            or self._is_parked(number)
        )

    # One invocation

    def begin(self, event: Mapping[str, Any], gates: Iterable[str], *, from_mapping: bool) -> None:
        outer = {}
        for entry in event["Records"]:
            numbers = [json.loads(data)["n"] for data in payloads(entry)]
            outer[entry["kinesis"]["sequenceNumber"]] = numbers
            shard = entry["eventID"].partition(":")[0]
            self._delivered.setdefault(shard, set()).update(numbers)
        self._running.clear()  # whatever ran before has ended with its process
        self._note = InvocationNote(outer, from_mapping, gates=set(gates))
        self.trace.append(f"invoked with {list(outer.values())}")

    def start(self, number: int) -> None:
        note, key = self._noted(), self.records[number].key
        note.started.add(number)
        self.trace.append(f"  start {number} ({key})")
        if key in self._running:
            self._breach(f"{number} starts while {self._running[key]} of {key} is running")
        self._running[key] = number
        ahead = [each for each in self._earlier(number) if not self._is_passed(each)]
        if ahead:
            self.inversions += 1
            self._breach(f"{number} of {key} starts before {ahead} were handled")

    def effect(self, number: int, now_s: float) -> None:
        self.effects[number] += 1
        self.first_effect_s.setdefault(number, now_s)
        self.trace.append(f"  effect {number}")

    def hang(self, number: int) -> None:
        """Its handler will not return in time."""
        if self._policy.of("hang") == "drop" and self._noted().from_mapping:
            self._noted().given_up_on.add(number)

    def end(self, number: int, failure: Call | None = None) -> None:
        """``failure`` None: the handler returned, or its process ended."""
        self._running.pop(self.records[number].key, None)
        if failure is None:
            return
        note = self._noted()
        note.failures[number] += 1
        self.trace.append(f"  {number} fails: {failure}")
        if failure == "park":
            note.by_hand.add(self.records[number].key)
        if failure == "drop" or (note.from_mapping and self._drops(note, number, failure)):
            note.given_up_on.add(number)

    def dropped_by_hand(self, number: int) -> None:
        """The handler itself went on without it."""
        self.dropped.add(number)
        self.counted_drops += 1

    def answered(self, response: Any, drops: int, gates: Iterable[str]) -> None:
        """The invocation returned. ``drops``: how many records the processor counts as dropped;
        ``gates``: keys that are quarantined now."""
        note = self._noted()
        self.counted_drops += drops
        self.trace.append(f"  answered {response}")
        if not note.from_mapping:
            self.dropped |= note.given_up_on
            return
        identifiers = [each["itemIdentifier"] for each in response["batchItemFailures"]]
        if len(identifiers) > 1 or not set(identifiers) <= set(note.outer):
            self._breach(f"{identifiers} reported: not one record of the batch")
        numbers = list(note.outer)
        passed = (
            numbers.index(identifiers[0]) if identifiers[:1] in [[n] for n in numbers] else None
        )
        self._pass(note, numbers[:passed])
        self._check_failed_keys(note)
        self._check_breaker(note, set(gates))

    def _pass(self, note: InvocationNote, numbers: Iterable[str]) -> None:
        """The mapping will not deliver these outer records again."""
        for outer in numbers:
            for number in note.outer[outer]:
                if number in note.given_up_on and not self.is_settled(number):
                    self.dropped.add(number)
                if not self.is_settled(number):
                    self._breach(f"{number} is passed although nobody handled it")

    def _check_failed_keys(self, note: InvocationNote) -> None:
        in_order = [number for numbers in note.outer.values() for number in numbers]
        left: dict[str, int] = {}
        for number in in_order:
            key = self.records[number].key
            if key in left and number in note.started:
                self._breach(f"{number} of {key} ran although {left[key]} stays unfinished")
            if not self.is_settled(number):
                left.setdefault(key, number)

    def _check_breaker(self, note: InvocationNote, gates: set[str]) -> None:
        bound = self._policy.max_new_keys
        new = gates - note.gates - note.by_hand
        if bound is not None and len(new) > bound:
            self._breach(f"{sorted(new)} were quarantined in one invocation, allowed: {bound}")

    # The mapping

    def gave_up(self, event: Mapping[str, Any]) -> None:
        for entry in event["Records"]:
            self.given_up |= {json.loads(data)["n"] for data in payloads(entry)}

    def check_checkpoints(self, checkpoints: Mapping[str, Checkpoint]) -> None:
        for shard, checkpoint in checkpoints.items():
            for number in self._delivered.get(shard, ()):
                if _is_behind(checkpoint, self.records[number].place) and not self.is_settled(
                    number
                ):
                    self._breach(f"the checkpoint {checkpoint} has passed {number}")

    def check_end(self) -> None:
        """Everything is over: nothing may be left anywhere."""
        for number, record in enumerate(self.records):
            if self._is_parked(number):
                self._breach(f"{number} of {record.key} stayed in the lot")
            elif not self.is_settled(number):
                self._breach(f"{number} of {record.key} was lost")
        if len(self.dropped) > self.counted_drops:
            self._breach(f"{len(self.dropped)} were dropped, {self.counted_drops} were counted")

    def breach(self, text: str) -> None:
        self._breach(text)

    # Inside

    def _breach(self, text: str) -> None:
        self.breaches.append(text)
        self.trace.append(f"  BREACH: {text}")

    def _noted(self) -> InvocationNote:
        assert self._note is not None
        return self._note

    def _drops(self, note: InvocationNote, number: int, failure: Call) -> bool:
        """Whether the policy drops the record now; a redrive tries once and drops nothing."""
        final = failure == "hang" or note.failures[number] >= self._policy.attempts
        return final and failure != "park" and self._policy.of(failure) == "drop"

    def _earlier(self, number: int) -> Iterable[int]:
        key = self.records[number].key
        return (each for each in range(number) if self.records[each].key == key)

    def _is_passed(self, number: int) -> bool:
        """Whether a later record of the key may start."""
        return (
            number in self.effects
            or number in self.given_up
            or number in self.dropped
            or number in self._noted().given_up_on
        )


def payloads(entry: Mapping[str, Any]) -> list[bytes]:
    """What is in an entry of an event: one payload, or those of an aggregate."""
    data = base64.b64decode(entry["kinesis"]["data"])
    packed = unpack(data)
    return [data] if packed is None else [each.data for each in packed]


def _is_behind(checkpoint: Checkpoint, place: Place) -> bool:
    if isinstance(checkpoint, After):
        return int(place[0]) <= int(checkpoint.sequence_number)
    return isinstance(checkpoint, ShardEnd)
