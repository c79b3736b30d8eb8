"""What the poison comparison says in words."""

from __future__ import annotations

from collections.abc import Mapping

from shardlane_lab.poison import Policy
from shardlane_lab.report.poison.figures import HELD_UP_MS, PoisonFigures, PolicyFigures
from shardlane_lab.report.wording import count_text, duration_text

NAMES: Mapping[Policy, str] = {
    "none": "without poison",
    "park": "PARK",
    "stop": "STOP",
    "powertools": "Powertools' BatchProcessor",
}

NOTE = (
    "Virtual time: the processors and the mapping's retries are the real code, the handler's time "
    "and the service's waits are not. Held up: a record of the key was handled "
    f"{HELD_UP_MS / 1000:.0f} s or more after it had arrived. The poison key under PARK waits for "
    "the handler to be fixed, and is redriven then, in order."
)


def poison_finding(figures: PoisonFigures) -> str:
    """One sentence from the figures alone."""
    parts = [f"{_held_up(each)} with {NAMES[each.policy]}" for each in figures.treated]
    total = count_text(figures.of("none").keys)
    return f"One record that cannot be handled, among {total} keys, held up {_listed(parts)}."


def _held_up(each: PolicyFigures) -> str:
    return "its own key alone" if each.held_up == 1 else f"{keys_held_up(each)} keys"


def poison_conditions(figures: PoisonFigures) -> str:
    setting = figures.setting
    return (
        f"One shard, {count_text(setting.keys)} keys, {setting.records_per_s} records a second for "
        f"{setting.seconds:g} s; from {setting.poison_from_s:g} s the records of one key fail, "
        f"until the handler is fixed at {setting.fixed_s:g} s."
    )


def panel_caption(each: PolicyFigures) -> str:
    return (
        f"{keys_held_up(each)} held up; the others p50 {duration_text(each.p50_ms)}, "
        f"p99 {duration_text(each.p99_ms)}"
    )


def keys_held_up(each: PolicyFigures) -> str:
    """``1 of 500``, ``all 500``."""
    if each.held_up == each.keys:
        return f"all {count_text(each.keys)}"
    return f"{count_text(each.held_up)} of {count_text(each.keys)}"


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
