"""What happens to one function and its mapping, as data: drawn from a seed, printed, shortened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from shardlane_lab.local_lambda.mapping_config import INFINITE, Undocumented

Call = Literal[
    "value",
    "key",
    "os",
    "runtime",
    "drop",
    "park",
    "exit",
    "exit late",
    "slow",
    "slow late",
    "hang",
]
"""What one call of the handler comes to: an exception of that kind; the end of the process before
or after the effect; seconds of work before or after it; work beyond any time-out."""
ERRORS: tuple[Call, ...] = ("value", "key", "os", "runtime")

Action = Literal["stop", "park", "drop"]


@dataclass(frozen=True, slots=True)
class Put:
    """One record, or several packed into one, with what the handler makes of each call for the
    first of them; after that all goes well."""

    at_s: float
    keys: tuple[str, ...]
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """The ``number``-th call of the parking store, counted over the whole history."""

    number: int
    kind: Literal["crash", "throttle"]
    late: bool
    """After the call has happened, instead of before."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that somebody does to the stream, the mapping or the parking lot."""

    at_s: float
    kind: Literal["split", "restart", "redrive"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Of the processor. ``by_kind`` has the exceptions whose policy is another than ``action``."""

    action: Action = "stop"
    attempts: int = 1
    max_new_keys: int | None = None
    by_kind: tuple[tuple[Call, Action], ...] = ()

    def of(self, kind: Call) -> Action:
        return dict(self.by_kind).get(kind, self.action)

    @property
    def parks(self) -> bool:
        return "park" in (self.action, *(action for _, action in self.by_kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The stream, the mapping and the processor."""

    shards: int = 1
    source: Literal["standard", "efo"] = "standard"
    batch_size: int = 10
    window_s: int = 0
    factor: int = 1
    retries: int = INFINITE
    age_s: int = INFINITE
    bisect: bool = False
    concurrency: int | None = None
    undocumented: Undocumented = field(default_factory=Undocumented)
    timeout_s: float = 6.0
    policy: Policy = field(default_factory=Policy)
    handler: Literal["plain", "async", "threads"] = "plain"
    """``threads``: a plain one on real threads, whose order is the machine's and not the seed's."""
    workers: int = 1
    """Of async handlers and threads; a plain one runs on its own."""


Event = Put | Fault | Deed


@dataclass(frozen=True, slots=True)
class History:
    seed: int
    setting: Setting
    events: tuple[Event, ...]

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}", f"  {self.setting}", *map(_line, self.events)])

    def with_policy(self, policy: Policy) -> History:
        return replace(self, setting=replace(self.setting, policy=policy))


def drawn(seed: int) -> History:
    """A history with a bit of everything."""
    random = Random(f"{seed}/keyed batch")
    setting = _setting(random, seed)
    puts, deeds = _puts(random, setting), _deeds(random)
    if any(len(set(each.keys)) > 1 for each in puts):
        # Keys that share aggregates are promised no order across a split.
        deeds = [each for each in deeds if each.kind != "split"]
    timed: list[Put | Deed] = sorted([*puts, *deeds], key=lambda each: each.at_s)
    faults = _faults(random) if setting.policy.parks else []
    return History(seed, setting, (*timed, *faults))


def shrunk(history: History, breaks: Callable[[History], bool], tries: int = 150) -> History:
    """Leaves out events, ever smaller pieces of them, while ``breaks`` stays true."""
    piece = max(1, len(history.events) // 2)
    while piece:
        at = 0
        while at < len(history.events) and tries > 0:
            tries -= 1
            fewer = history.events[:at] + history.events[at + piece :]
            shorter = replace(history, events=fewer)
            if breaks(shorter):
                history = shorter
            else:
                at += piece
        piece //= 2
    return history


def _line(event: Event) -> str:
    if isinstance(event, Fault):
        when = "after" if event.late else "before"
        return f"  {event.kind} {when} store call {event.number}"
    if isinstance(event, Deed):
        return f"  {event.at_s:6.2f} s  {event.kind}"
    calls = f": {', '.join(event.calls)}" if event.calls else ""
    return f"  {event.at_s:6.2f} s  put {' + '.join(event.keys)}{calls}"


def _setting(random: Random, seed: int) -> Setting:
    return Setting(
        shards=random.choice([1, 1, 2]),
        source=random.choice(["standard", "standard", "efo"]),
        batch_size=random.choice([1, 3, 6, 6, 20]),
        window_s=random.choice([0, 0, 1, 3]),
        factor=random.choice([1, 1, 2, 3]),
        retries=random.choice([INFINITE, INFINITE, 0, 2, 25]),
        age_s=random.choice([INFINITE, INFINITE, INFINITE, 60]),
        bisect=random.random() < 0.5,
        concurrency=random.choice([None, None, 1]),
        undocumented=Undocumented(
            unknown_identifier=random.choice(["fail-batch", "ignore"]),
            progress_restarts_retries=random.random() < 0.5,
            partial_split_is_free=random.random() < 0.5,
            age_takes_whole_batch=random.random() < 0.5,
            first_reported_is_halved=Random(f"{seed}/halved").random() < 0.5,
        ),
        timeout_s=random.choice([3.0, 6.0]),
        policy=_policy(random),
        handler=random.choice(["plain", "async"]),
        workers=random.choice([1, 2, 4]),
    )


def _policy(random: Random) -> Policy:
    action: Action = random.choice(["stop", "park", "park", "park", "drop"])
    others: list[tuple[Call, Action]] = []
    if random.random() < 0.3:
        others = [(kind, random.choice(["stop", "park", "drop"])) for kind in ("value", "key")]
    return Policy(
        action,
        attempts=random.choice([1, 1, 2, 3]),
        max_new_keys=random.choice([None, None, None, 1]) if action == "park" else None,
        by_kind=tuple(others),
    )


def _puts(random: Random, setting: Setting) -> list[Put]:
    names = [f"k{number}" for number in range(random.choice([1, 2, 3, 6]))]
    failing = random.choice([0.1, 0.25, 0.5])
    packed = random.choice([0.0, 0.15, 0.3])
    burst_s = random.choice([0.0, 0.0, 0.5, 2.0])
    at_s, puts = 0.0, []
    for _ in range(random.randint(6, 24)):
        at_s += random.uniform(0.0, burst_s)
        keys: tuple[str, ...] = (random.choice(names),)
        if random.random() < packed:
            # One key to an aggregate, unless all of its keys are read in one order anyway.
            mixed = setting.factor == 1 and setting.shards == 1
            keys = tuple(random.choice(names) if mixed else keys[0] for _ in range(3))
        calls = _calls(random) if random.random() < failing else ()
        puts.append(Put(round(at_s, 2), keys, calls))
    return puts


def _calls(random: Random) -> tuple[Call, ...]:
    once: Call = random.choice(
        ["drop", "park", "exit", "exit late", "slow", "slow", "slow late", "hang", "hang"]
    )
    errors = random.choices(ERRORS, k=random.choice([1, 1, 2, 4, 7]))
    return random.choice([(once,), tuple(errors), tuple(errors), (*errors, once)])


def _deeds(random: Random) -> list[Deed]:
    deeds = []
    for _ in range(random.randint(0, 4)):
        kind: Literal["split", "restart", "redrive"] = random.choice(
            ["split", "restart", "redrive", "redrive", "redrive"]
        )
        deeds.append(Deed(round(random.uniform(0.5, 40.0), 2), kind))
    return deeds


def _faults(random: Random) -> list[Fault]:
    faults = [
        Fault(random.randrange(40), "crash", random.random() < 0.5)
        for _ in range(random.choice([0, 1, 2, 4]))
    ]
    for _ in range(random.choice([0, 1, 2])):
        first, late = random.randrange(30), random.random() < 0.5
        length = random.choice([1, 2, 40])  # forty outlast any invocation's patience
        faults += [Fault(first + each, "throttle", late) for each in range(length)]
    return faults
