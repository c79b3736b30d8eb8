"""Faults by request: what goes wrong, where, how often. Seeded, so that a run can be repeated.

A plan is a list of rules. Each rule counts the places that it matches; at a match it fires with
its probability, and goes on firing for ``burst`` matches in all. Rules come from a TOML or JSON
file::

    seed = 7

    [[fault]]
    kind = "throttle"
    operation = "GetRecords"
    probability = 0.05
    burst = 3
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.shape import service_operations


class FaultKind(Enum):
    THROTTLE = "throttle"
    """The call (of PutRecords: the entry) is refused as over its rate."""
    INTERNAL_ERROR = "internal-error"
    """The call fails with status 500."""
    LATENCY = "latency"
    """The call takes ``ms`` longer."""
    LOST_ANSWER = "lost-answer"
    """The call is carried out and the connection breaks before the answer."""
    EXPIRED_ITERATOR = "expired-iterator"
    DUPLICATE = "duplicate"
    """The last ``records`` of what was just read come again."""
    CLOCK_SKEW = "clock-skew"
    """Arrival time-stamps are off by ``ms`` plus or minus up to ``spread_ms``."""
    EXCEPTION_FIRST = "exception-first"
    """An exception event where a subscription's first frame belongs."""
    EXCEPTION_FRAME = "exception-frame"
    CUT_BETWEEN_FRAMES = "cut-between-frames"
    """The connection breaks after a frame: with a reset, or (``reset`` false) an end of stream."""
    CUT_INSIDE_FRAME = "cut-inside-frame"
    TRUNCATED_FRAME = "truncated-frame"
    """Half a frame and then the clean end of the answer."""
    CORRUPT_CRC = "corrupt-crc"
    SILENCE = "silence"
    """The subscription stays open and nothing comes any more."""


CALL_KINDS = frozenset({FaultKind.THROTTLE, FaultKind.INTERNAL_ERROR})
EVENT_KINDS = frozenset(
    {
        FaultKind.EXCEPTION_FRAME,
        FaultKind.CUT_BETWEEN_FRAMES,
        FaultKind.CUT_INSIDE_FRAME,
        FaultKind.TRUNCATED_FRAME,
        FaultKind.CORRUPT_CRC,
        FaultKind.SILENCE,
    }
)
"""Drawn once for each event of a subscription."""

_WRITES = ("PutRecord", "PutRecords")
_PLACES: Mapping[FaultKind, tuple[str, ...]] = {
    FaultKind.EXPIRED_ITERATOR: ("GetRecords",),
    FaultKind.DUPLICATE: ("GetRecords", "SubscribeToShard"),
    FaultKind.CLOCK_SKEW: _WRITES,
    FaultKind.EXCEPTION_FIRST: ("SubscribeToShard",),
    **dict.fromkeys(EVENT_KINDS, ("SubscribeToShard",)),
}
"""The operations at which a kind happens; those that are not here happen at any."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where something could go wrong; None where it does not apply."""

    operation: str
    stream: str | None = None
    shard: str | None = None
    consumer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A rule. A field of the site that is None matches everything."""

    kind: FaultKind
    operation: str | None = None
    stream: str | None = None
    shard: str | None = None
    consumer: str | None = None
    """A consumer's name."""
    probability: float = 1.0
    after: int = 0
    """How many matches pass before it may fire."""
    times: int | None = None
    """How often it fires at most."""
    burst: int = 1
    """How many matches in a row it fires once it has begun."""
    ms: float = 0.0
    spread_ms: float = 0.0
    records: int = 1
    code: str = "InternalFailureException"
    """Of an exception event."""
    reset: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability must be between 0 and 1: {self.probability}")
        for name in ("ms", "spread_ms"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be a finite number: {getattr(self, name)}")
        for name in ("after", "spread_ms", "times"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} must not be negative: {value}")
        for name in ("burst", "records"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1: {getattr(self, name)}")
        if self.kind is FaultKind.LATENCY and self.ms < 0:
            raise ValueError(f"ms of a latency must not be negative: {self.ms}")
        self._check_operation()

    def exception(self) -> ServiceError:
        """What an exception event says."""
        return ServiceError(self.code, "By request of the fault plan.")

    def _check_operation(self) -> None:
        """A rule that can never fire is a mistake."""
        if self.operation is None:
            return
        if self.operation not in service_operations():
            raise ValueError(
                f"operation {self.operation!r} is none of Kinesis', e.g. GetRecords, PutRecords, "
                f"SubscribeToShard"
            )
        places = _PLACES.get(self.kind)
        if places is not None and self.operation not in places:
            raise ValueError(
                f"{self.kind.value} happens at {' and '.join(places)} only, not at {self.operation}"
            )

    def matches(self, site: Site) -> bool:
        return all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.operation, site.operation),
                (self.stream, site.stream),
                (self.shard, site.shard),
                (self.consumer, site.consumer),
            )
        )


@dataclass(slots=True)
class _Count:
    matched: int = 0
    fired: int = 0
    left_of_burst: int = 0


@dataclass(slots=True)
class FaultPlan:
    """Rules with their counters and their generator."""

    rules: tuple[Fault, ...] = ()
    seed: int = 0
    _counts: list[_Count] = field(init=False)
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._counts = [_Count() for _ in self.rules]
        self._random = Random(f"{self.seed}/faults")

    def __bool__(self) -> bool:
        return bool(self.rules)

    def draw(self, kinds: frozenset[FaultKind], site: Site) -> Fault | None:
        """The first rule of these kinds that fires at ``site``; counts a match of each."""
        fired: Fault | None = None
        for rule, count in zip(self.rules, self._counts, strict=True):
            if rule.kind in kinds and rule.matches(site) and self._fires(rule, count):
                fired = fired or rule
        return fired

    def draw_one(self, kind: FaultKind, site: Site) -> Fault | None:
        return self.draw(frozenset({kind}), site) if self.rules else None

    def _fires(self, rule: Fault, count: _Count) -> bool:
        count.matched += 1
        if count.matched <= rule.after:
            return False
        if rule.times is not None and count.fired >= rule.times:
            return False
        if count.left_of_burst == 0:
            if self._random.random() >= rule.probability:
                return False
            count.left_of_burst = rule.burst
        count.left_of_burst -= 1
        count.fired += 1
        return True

    def skew_ms(self, site: Site) -> float:
        """How far the clock that stamps an arrival is off."""
        fault = self.draw_one(FaultKind.CLOCK_SKEW, site)
        if fault is None:
            return 0.0
        return fault.ms + self._random.uniform(-fault.spread_ms, fault.spread_ms)

    def as_dict(self) -> dict[str, Any]:
        """As a file would say it, and how often each rule matched and fired."""
        shown = []
        for rule, count in zip(self.rules, self._counts, strict=True):
            values = {each.name: getattr(rule, each.name) for each in fields(rule)}
            values["kind"] = rule.kind.value
            shown.append(values | {"matched": count.matched, "fired": count.fired})
        return {"seed": self.seed, "fault": shown}


_FIELDS = {each.name: str(each.type) for each in fields(Fault)}
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "float": ((int, float), "a number"),
    "int": ((int,), "a whole number"),
    "bool": ((bool,), "true or false"),
}


def fault_plan(values: object) -> FaultPlan:
    """The plan that a parsed file says. Raises ``ValueError`` that names what is wrong."""
    if not isinstance(values, Mapping):
        raise ValueError("a fault plan is a table with the keys seed and fault")
    unknown = sorted(set(values) - {"seed", "fault"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}: a fault plan has the keys seed and fault")
    seed, rules = values.get("seed", 0), values.get("fault", [])
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed must be a whole number: {seed!r}")
    if not isinstance(rules, list):
        raise ValueError("fault must be a list of tables ([[fault]] in TOML)")
    return FaultPlan(tuple(_rule(number, each) for number, each in enumerate(rules, 1)), seed)


def _rule(number: int, values: object) -> Fault:
    if not isinstance(values, Mapping):
        raise ValueError(f"fault {number} is not a table")
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _FIELDS:
            raise ValueError(
                f"fault {number}: unknown key {name!r}; known are {', '.join(_FIELDS)}"
            )
        if name != "kind":
            _check_type(number, name, value)
        known[name] = value
    try:
        known["kind"] = FaultKind(values.get("kind"))
    except ValueError:
        kinds = ", ".join(kind.value for kind in FaultKind)
        raise ValueError(
            f"fault {number}: kind {values.get('kind')!r} is none of {kinds}"
        ) from None
    try:
        return Fault(**known)
    except ValueError as error:
        raise ValueError(f"fault {number}: {error}") from None


def _check_type(number: int, name: str, value: object) -> None:
    types, words = _TYPES[_FIELDS[name].removesuffix(" | None")]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"fault {number}: {name} must be {words}: {value!r}")


def read_fault_plan(path: Path) -> FaultPlan:
    """From a ``.toml`` or ``.json`` file. Raises ``ValueError`` or ``OSError`` that names it."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ValueError(f"{path} is not {kind}: {error}") from None
    try:
        return fault_plan(values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
