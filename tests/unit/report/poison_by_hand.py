"""A poison comparison whose figures can be worked out in the head."""

from __future__ import annotations

from shardlane_lab.poison import PoisonSetting, Policy
from shardlane_lab.report.poison.figures import PoisonFigures, PolicyFigures

SETTING = PoisonSetting(keys=100, records_per_s=10, seconds=60.0, poison_from_s=10.0, fixed_s=40.0)


def poison_by_hand() -> PoisonFigures:
    return PoisonFigures(
        seed=1,
        setting=SETTING,
        policies=(
            _figures("none", held_up=0, p99_ms=1_000.0, poison_max_ms=990.0),
            _figures("park", held_up=1, p99_ms=1_010.0, poison_max_ms=30_000.0),
            _figures("stop", held_up=100, p99_ms=42_000.0, poison_max_ms=43_000.0),
            _figures("powertools", held_up=98, p99_ms=41_500.0, poison_max_ms=43_000.0),
        ),
    )


def _figures(policy: Policy, *, held_up: int, p99_ms: float, poison_max_ms: float) -> PolicyFigures:
    return PolicyFigures(
        policy=policy,
        keys=100,
        held_up=held_up,
        p50_ms=p99_ms / 2,
        p99_ms=p99_ms,
        max_ms=p99_ms + 100,
        poison_max_ms=poison_max_ms,
        inversions=3 if policy == "powertools" else 0,
        duplicates=250 if policy == "powertools" else 0,
        dots=tuple((float(second), 500.0 + second) for second in range(60)),
        poison_dots=((12.0, poison_max_ms), (30.0, poison_max_ms / 3)),
    )
