"""Colours of the page and of the plots, for light and dark.

Plots are drawn in stand-in colours and carry CSS variables afterwards, so one drawing serves both
modes. The kinds differ for people with normal and with colour-blind vision (a test holds
their distances), and consumers of one kind differ by their dashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from shardlane_lab.run_record import ConsumerRecord, Kind

Mode = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Colour:
    """``stand_in`` is drawn, ``variable`` is what it becomes."""

    variable: str
    stand_in: str
    light: str
    dark: str

    @property
    def css(self) -> str:
        return f"var({self.variable})"


PAPER = Colour("--paper", "#00fe00", "#fdfdfc", "#14171b")
INK = Colour("--ink", "#00fe01", "#1d2126", "#e6e9ec")
MUTED = Colour("--muted", "#00fe02", "#59626b", "#9aa4ae")
RULE = Colour("--rule", "#00fe03", "#dcdfe2", "#30363d")
WASH = Colour("--wash", "#00fe04", "#f3f4f4", "#1c2025")

KINDS: Mapping[Kind, Colour] = {
    "lambda-standard": Colour("--lambda-standard", "#00fe10", "#a32a9b", "#f0a0de"),
    "lambda-efo": Colour("--lambda-efo", "#00fe11", "#1a56db", "#3f92ec"),
    "boto3-efo": Colour("--boto3-efo", "#00fe12", "#128a5c", "#38d89b"),
    "boto3-get-records": Colour("--boto3-get-records", "#00fe13", "#9c3410", "#e58b2e"),
    "shardlane-efo": Colour("--shardlane-efo", "#00fe14", "#1e4647", "#b4fdec"),
    "shardlane-polling": Colour("--shardlane-polling", "#00fe15", "#3e1703", "#f4ee3d"),
}

SERIES = (
    Colour("--series-1", "#00fe20", "#1a56db", "#5b9df0"),
    Colour("--series-2", "#00fe21", "#b5460f", "#e58b2e"),
    Colour("--series-3", "#00fe22", "#128a5c", "#38d89b"),
    Colour("--series-4", "#00fe23", "#a32a9b", "#f0a0de"),
)
"""Of lines that are no consumers, in their order; see ``series_stroke``."""

ALARM = Colour("--alarm", "#00fe30", "#b42318", "#ff8a80")
"""Thresholds, and records that were lost or came out of order."""

COLOURS = (PAPER, INK, MUTED, RULE, WASH, *KINDS.values(), *SERIES, ALARM)

Dash = tuple[float, ...]
"""Lengths of lines and gaps; empty for an unbroken line."""

_DASHES: tuple[Dash, ...] = ((), (6, 2.5), (2, 2), (8, 2.5, 2, 2.5))


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a consumer is drawn, in plots and in their keys alike."""

    colour: Colour
    dash: Dash


def strokes(consumers: tuple[ConsumerRecord, ...]) -> Mapping[str, Stroke]:
    """By label. From the fifth consumer of a kind on, dashes repeat."""
    found: dict[str, Stroke] = {}
    for consumer in consumers:
        colour = KINDS[consumer.kind]
        alike = sum(stroke.colour is colour for stroke in found.values())
        found[consumer.label] = Stroke(colour, _DASHES[alike % len(_DASHES)])
    return found


def series_stroke(place: int) -> Stroke:
    """Of the line at ``place`` of a plot: when the colours are used up, the dashes change."""
    dashes, colour = divmod(place, len(SERIES))
    return Stroke(SERIES[colour], _DASHES[dashes % len(_DASHES)])


def custom_properties(mode: Mode) -> str:
    """The CSS declarations of all colours of a mode."""
    values = ((each.variable, each.light if mode == "light" else each.dark) for each in COLOURS)
    return " ".join(f"{variable}: {value};" for variable, value in values)
