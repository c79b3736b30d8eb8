"""The figures of a poison comparison, and their file. Delays are milliseconds, times seconds."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from shardlane_lab.poison import PoisonRun, PoisonSetting, Policy, run_poison

POISON = "poison.json"
"""In a folder of its own, as a run is."""

SCHEMA = 1

SHORT = PoisonSetting(keys=500, records_per_s=60, seconds=80.0, poison_from_s=10.0, fixed_s=50.0)
"""What the demo and the README show: over a minute of virtual time in a few seconds of real."""

HELD_UP_MS = 5_000.0
"""A key counts as held up if one of its records was handled so long after it had arrived."""

MOST_DOTS = 1_500
"""Of the other keys, kept for plots; the poison key's are all kept."""

Dot = tuple[float, float]
"""When a record arrived, and its delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFigures:
    """What one policy did to the same records."""

    policy: Policy
    keys: int
    """That had a record at all."""
    held_up: int
    """Keys, the poison one among them, with a record delayed by ``HELD_UP_MS`` or more."""
    p50_ms: float
    p99_ms: float
    max_ms: float
    """Of all keys but the poison one."""
    poison_max_ms: float
    """Of the poison key."""
    inversions: int
    """Starts of a record while an earlier one of its key had not been handled yet."""
    duplicates: int
    """Effects beyond the first of each record."""
    dots: tuple[Dot, ...]
    poison_dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoisonFigures:
    seed: int
    setting: PoisonSetting
    policies: tuple[PolicyFigures, ...]
    """Without poison first."""

    def of(self, policy: Policy) -> PolicyFigures:
        return next(each for each in self.policies if each.policy == policy)

    @property
    def treated(self) -> tuple[PolicyFigures, ...]:
        """Those that met the poison."""
        return tuple(each for each in self.policies if each.policy != "none")


def poison_figures(
    setting: PoisonSetting = SHORT,
    *,
    seed: int = 1,
    on_policy: Callable[[Policy], object] = lambda _: None,
) -> PoisonFigures:
    """Runs every policy; ``on_policy`` is told before each."""
    found = []
    for policy in get_args(Policy):
        on_policy(policy)
        with redirect_stdout(io.StringIO()):  # the processor's own log lines
            found.append(policy_figures(run_poison(policy, seed=seed, setting=setting)))
    return PoisonFigures(seed=seed, setting=setting, policies=tuple(found))


def policy_figures(run: PoisonRun) -> PolicyFigures:
    poison = run.delays_ms[run.poison_key]
    others = [(each.arrival_s, each.delay_ms) for each in run.others]
    worst_ms = [max(delays) for delays in run.delays_ms.values()]
    return PolicyFigures(
        policy=run.policy,
        keys=len(worst_ms),
        held_up=sum(delay_ms >= HELD_UP_MS for delay_ms in worst_ms),
        p50_ms=run.others_delay_ms(50),
        p99_ms=run.others_delay_ms(99),
        max_ms=run.others_delay_ms(100),
        poison_max_ms=max(poison),
        inversions=run.inversions,
        duplicates=run.duplicates,
        dots=tuple(_thinned(others)),
        poison_dots=tuple(
            _rounded((each.arrival_s, each.delay_ms))
            for each in run.records
            if each.key == run.poison_key
        ),
    )


def _thinned(dots: Sequence[Dot]) -> list[Dot]:
    """By chance, and always the same ones, in the order of arrival."""
    if len(dots) > MOST_DOTS:
        dots = sorted(random.Random(0).sample(dots, MOST_DOTS))
    return [_rounded(dot) for dot in dots]


def _rounded(dot: Dot) -> Dot:
    return round(dot[0], 2), round(dot[1], 1)


def write_poison(folder: Path, figures: PoisonFigures) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, **asdict(figures)}, separators=(",", ":"))
    (folder / POISON).write_text(text + "\n", encoding="utf-8")


def holds_poison(folder: Path) -> bool:
    return (folder / POISON).is_file()


def read_poison(folder: Path) -> PoisonFigures:
    """Raises ``ValueError`` for a damaged file."""
    path = folder / POISON
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if values.pop("schema") != SCHEMA:
            raise ValueError("it was written by another version")
        return PoisonFigures(
            seed=values["seed"],
            setting=PoisonSetting(**values["setting"]),
            policies=tuple(_policy(each) for each in values["policies"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no poison comparison: {error}") from error


def _policy(values: dict[str, Any]) -> PolicyFigures:
    dots = {
        name: tuple((arrival_s, delay_ms) for arrival_s, delay_ms in values[name])
        for name in ("dots", "poison_dots")
    }
    return PolicyFigures(**(values | dots))
