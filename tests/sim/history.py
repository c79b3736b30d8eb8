"""What happens to a fleet of consumers, as data: drawn from a seed, printed, and made shorter."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Literal

MACHINES = ("m1", "m2", "m3")
Kind = Literal[
    "start", "stop", "crash", "freeze", "cut", "storm", "split", "merge", "seek", "burst"
]
_KINDS: tuple[Kind, ...] = (
    *("crash", "freeze", "freeze", "cut", "storm", "split", "split", "merge"),
    *("seek", "stop", "burst", "start", "start"),
)
Plan = Literal["loop", "keyed", "pool", "batches"]
Start = Literal["horizon", "latest", "timestamp"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens at ``at_s``; ``for_s`` is how long it lasts."""

    at_s: float
    kind: Kind
    machine: str = ""
    for_s: float = 0.0
    number: int = 0
    """Which shard is split or merged, how many records a burst has, what a storm breaks."""

    def __str__(self) -> str:
        parts = [f"{self.at_s:6.2f} s  {self.kind}", self.machine]
        if self.for_s:
            parts.append(f"for {self.for_s:.1f} s")
        if self.number:
            parts.append(f"#{self.number}")
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the fleet is set up."""

    shards: int = 2
    keys: int = 6
    records: int = 60
    fan_out: bool = False
    interval_s: float = 0.5
    plan: Plan = "keyed"
    workers: int = 3
    start: Start = "horizon"
    channel_records: int = 64
    unsettled_records: int = 10_000
    failing: float = 0.08
    """Share of records whose handler fails a few times."""
    slow: float = 0.03
    """Share of records whose handler takes seconds; a few of them longer than a lease lives."""
    aggregated: float = 0.1
    """Share of puts that are aggregates of three records of one key."""
    parks: bool = False
    """Whether what fails twice is parked, and its key with it; else it is tried until it works."""
    skew_s: dict[str, float] = field(default_factory=dict)
    """What a machine's wall clock is off by."""


@dataclass(frozen=True, slots=True)
class History:
    seed: int
    setting: Setting
    events: tuple[Event, ...]
    active_s: float = 45.0
    """From then on nothing breaks any more, and what is left has to be finished."""

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", f"  {self.setting}", *(f"  {each}" for each in self.events)]
        return "\n".join(lines)


def drawn(seed: int) -> History:
    """A history with a bit of everything."""
    random = Random(f"{seed}/history")
    parks = Random(f"{seed}/parks").random() < 0.4
    setting = _setting(random, parks=parks)
    events = [Event(random.uniform(0, 4), "start", machine) for machine in MACHINES]
    events += [_event(random) for _ in range(random.randint(3, 12))]
    if random.random() < 0.3:
        events += _rolling_restart(random)
    return History(seed, setting, tuple(sorted(events, key=lambda each: each.at_s)))


def _setting(random: Random, *, parks: bool) -> Setting:
    small = random.random() < 0.5
    return Setting(
        shards=random.randint(1, 3),
        keys=random.choice([1, 4, 8]),
        records=random.choice([30, 60, 100]),
        fan_out=random.random() < 0.4,
        interval_s=random.choice([0.2, 0.5, 1.0]),
        plan=random.choice(["loop", "keyed", "keyed", "pool", "batches"]),
        workers=random.choice([2, 3, 8]),
        start=random.choice(["horizon", "horizon", "latest", "timestamp"]),
        channel_records=random.choice([2, 8]) if small else 64,
        unsettled_records=random.choice([6, 20]) if small else 10_000,
        failing=random.choice([0.0, 0.1, 0.3]),
        slow=random.choice([0.0, 0.03, 0.1]),
        parks=parks,
        skew_s={machine: random.choice([0, 3600, -3600]) for machine in MACHINES},
    )


def _event(random: Random) -> Event:
    at_s = random.uniform(3, 42)
    machine = random.choice(MACHINES)
    kind = random.choice(_KINDS)
    if kind in ("freeze", "cut"):
        return Event(at_s, kind, machine, for_s=random.choice([0.5, 3.0, 8.5, 15.0]))
    if kind == "storm":
        lasting_s = random.choice([3.0, 10.0, 30.0])
        return Event(at_s, kind, for_s=lasting_s, number=random.randint(1, 3))
    if kind == "burst":
        return Event(at_s, kind, number=random.choice([20, 60]))
    if kind in ("split", "merge"):
        return Event(at_s, kind, number=random.randint(0, 5))
    return Event(at_s, kind, machine)


def _rolling_restart(random: Random) -> list[Event]:
    at_s, events = random.uniform(8, 20), []
    for machine in MACHINES:
        events += [Event(at_s, "stop", machine), Event(at_s + 2.0, "start", machine)]
        at_s += 5.0
    return events
