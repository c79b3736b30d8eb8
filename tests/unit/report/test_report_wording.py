"""How figures and runs are written."""

from __future__ import annotations

import pytest

from shardlane_lab.report.title import run_caption, short_names
from shardlane_lab.report.wording import (
    count_text,
    difference_text,
    duration_text,
    ms_text,
    plural,
)
from tests.unit.report.samples_by_hand import record


@pytest.mark.parametrize(
    ("value_ms", "expected"),
    [
        (3.44, "3.4 ms"),
        (-0.01, "0.0 ms"),
        (68.3, "68 ms"),
        (99.4, "99 ms"),
        (99.6, "0.10 s"),
        (161.4, "0.16 s"),
        (998.0, "1.0 s"),
        (7427.0, "7.4 s"),
        (9960.0, "10 s"),
        (12041.0, "12 s"),
    ],
)
def test_a_sentence_gets_two_digits(value_ms: float, expected: str) -> None:
    assert duration_text(value_ms) == expected


def test_tables_get_one_decimal_and_thousands_apart() -> None:
    assert [ms_text(value) for value in (1364.72, -0.04, -7.5, None)] == [
        "1,364.7",
        "0.0",
        "−7.5",
        "–",
    ]
    assert [count_text(value) for value in (3000, 12.5, None)] == ["3,000", "12.5", "–"]
    assert [difference_text(value) for value in (2, -0.44, 0)] == ["+2.0", "−0.4", "0.0"]


def test_one_is_singular() -> None:
    assert [plural(count, "record") for count in (0, 1, 3000)] == [
        "0 records",
        "1 record",
        "3,000 records",
    ]


def test_runs_of_one_name_are_told_apart() -> None:
    a, b, c = record(), record(target="aws"), record(target="aws")
    assert short_names([a]) == ("by-hand",)
    assert short_names([a, b, c]) == ("by-hand local", "by-hand aws #1", "by-hand aws #2")
    assert len(set(short_names([a, a]))) == 2


def test_a_caption_says_where_and_how_long() -> None:
    assert run_caption(record(published_round="1")) == (
        "local, delays measured · 600 s at 1 records/s · 10 records sent · beside published round 1"
    )
    assert run_caption(record(complete=False)).endswith("stopped early")
