"""Colours that can be told apart and read, in both modes and by colour-blind people."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from shardlane_lab.report.palette import (
    COLOURS,
    INK,
    KINDS,
    MUTED,
    PAPER,
    Colour,
    Mode,
    custom_properties,
    strokes,
)
from shardlane_lab.run_record import ConsumerRecord

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

# Machado, Oliveira, Fernandes (2009), severity 1.0, on linear RGB.
VISIONS: dict[str, Matrix] = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 20.0
"""CIE76; 2.3 is just noticeable side by side."""


def linear(colour: str) -> Triple:
    r, g, b = (_linear(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    return r, g, b


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: Triple) -> Triple:
    r, g, b = (min(1.0, max(0.0, channel)) for channel in colour)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (_cube_root(each) for each in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _cube_root(value: float) -> float:
    return float(value ** (1 / 3)) if value > 0.008856 else 7.787 * value + 16 / 116


def seen(colour: str, vision: Matrix) -> Triple:
    channels = linear(colour)
    r, g, b = (sum(w * c for w, c in zip(row, channels, strict=True)) for row in vision)
    return lab((r, g, b))


def shade(colour: Colour, mode: Mode) -> str:
    return colour.light if mode == "light" else colour.dark


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_the_kinds_differ_for_everyone(mode: Mode, vision: str) -> None:
    points = [seen(shade(colour, mode), VISIONS[vision]) for colour in KINDS.values()]
    assert min(math.dist(one, other) for one, other in combinations(points, 2)) >= APART


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_and_lines_stand_out_from_the_page(mode: Mode) -> None:
    paper = shade(PAPER, mode)
    assert contrast(shade(INK, mode), paper) >= 7
    assert contrast(shade(MUTED, mode), paper) >= 4.5
    assert all(contrast(shade(colour, mode), paper) >= 3 for colour in KINDS.values())


def test_every_colour_has_a_stand_in_of_its_own() -> None:
    assert len({colour.stand_in for colour in COLOURS}) == len(COLOURS)
    assert "--ink: #1d2126;" in custom_properties("light")
    assert "--ink: #e6e9ec;" in custom_properties("dark")


def test_consumers_of_one_kind_differ_by_their_dashes() -> None:
    kinds = ("boto3-get-records", "boto3-get-records", "boto3-get-records")
    consumers = tuple(
        ConsumerRecord(label=f"poller-{number}", kind="boto3-get-records")
        for number, _ in enumerate(kinds)
    )
    found = strokes(consumers)
    assert len({stroke.colour for stroke in found.values()}) == 1
    assert len({stroke.dash for stroke in found.values()}) == 3
