"""The poison comparison: its figures, its file, its picture, and what the demo's setting shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from shardlane_lab.poison import HandledRecord, PoisonRun, PoisonSetting, Policy
from shardlane_lab.report.poison.figures import (
    POISON,
    PoisonFigures,
    poison_figures,
    policy_figures,
    read_poison,
    write_poison,
)
from shardlane_lab.report.poison.picture import poison_picture
from shardlane_lab.report.poison.words import poison_finding
from shardlane_lab.report.text import WIDTH, poison_text
from shardlane_lab.report.write import render_json, render_text
from shardlane_lab.run_record import write_run
from tests.unit.report.poison_by_hand import SETTING, poison_by_hand
from tests.unit.report.seeded_run import seeded_run

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "poison.svg"
MOST_BYTES = 100_000
SVG = "{http://www.w3.org/2000/svg}"


def handled(index: int, key: str, delay_s: float, **counts: int) -> HandledRecord:
    numbers = {"calls": 1, "effects": 1} | counts
    return HandledRecord(index, key, float(index), index + delay_s, **numbers)


def test_figures_of_a_run_by_hand() -> None:
    run = PoisonRun(
        policy="park",
        seed=1,
        setting=SETTING,
        poison_key="bad",
        records=(
            handled(0, "a", 0.1),
            handled(1, "bad", 20.0, calls=4),
            handled(2, "a", 5.0),
            handled(3, "b", 4.9, effects=3),
        ),
        inversions=2,
        most_quarantined=1,
    )
    found = policy_figures(run)
    assert (found.keys, found.held_up) == (3, 2)
    assert (found.p50_ms, found.max_ms) == pytest.approx((4900.0, 5000.0))
    assert found.poison_max_ms == pytest.approx(20_000.0)
    assert (found.inversions, found.duplicates) == (2, 2)
    assert found.poison_dots == ((1.0, 20_000.0),)
    assert found.dots == ((0.0, 100.0), (2.0, 5000.0), (3.0, 4900.0))


@pytest.fixture(scope="module")
def small() -> PoisonFigures:
    setting = PoisonSetting(
        keys=40, records_per_s=10, seconds=40.0, poison_from_s=5.0, fixed_s=25.0
    )
    return poison_figures(setting, seed=3)


def test_parking_costs_the_poison_key_alone_and_the_others_cost_all(small: PoisonFigures) -> None:
    assert [each.policy for each in small.policies] == list(get_args(Policy))
    none, park, stop, powertools = small.policies
    assert (none.held_up, park.held_up) == (0, 1)
    assert park.p99_ms <= none.p99_ms * 1.1
    assert min(stop.held_up, powertools.held_up) > none.keys / 2
    assert min(stop.p99_ms, powertools.p99_ms) > 10 * park.p99_ms
    assert park.inversions == stop.inversions == 0


def test_a_comparison_comes_back_as_it_was(small: PoisonFigures, tmp_path: Path) -> None:
    write_poison(tmp_path, small)
    assert read_poison(tmp_path) == small


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 9}', '{"schema": 1, "seed": 1}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / POISON).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"poison\.json holds no poison comparison"):
        read_poison(tmp_path)


def test_the_finding_says_what_the_figures_say() -> None:
    assert poison_finding(poison_by_hand()) == (
        "One record that cannot be handled, among 100 keys, held up its own key alone with PARK, "
        "all 100 keys with STOP and 98 of 100 keys with Powertools' BatchProcessor."
    )


def test_the_text_fits_a_terminal() -> None:
    assert max(map(len, poison_text(poison_by_hand()).splitlines())) <= WIDTH


def test_a_report_shows_the_comparison_first_and_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "run", seeded_run(seconds=20))
    write_poison(tmp_path / "poison", poison_by_hand())
    both = render_text([tmp_path / "run", tmp_path / "poison"])
    assert both.index("poison record") < both.index("Arrival to receive")
    alone = render_text([tmp_path / "poison"])
    assert alone == poison_text(poison_by_hand())
    values = json.loads(render_json([tmp_path / "poison"]))
    assert values["poison"]["policies"][1]["held_up"] == 1
    assert "dots" not in values["poison"]["policies"][0]


def test_two_comparisons_in_a_report_are_an_error(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_poison(tmp_path / name, poison_by_hand())
    with pytest.raises(ValueError, match="a report shows one"):
        render_text([tmp_path / "one", tmp_path / "two"])


def drawing(text: str) -> ElementTree.Element:
    assert len(text.encode()) <= MOST_BYTES
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert {"script", "image", "foreignObject"}.isdisjoint(
        each.tag.removeprefix(SVG) for each in root.iter()
    )
    words = {(each.text or "").strip() for each in root.iter(f"{SVG}text")}
    assert {"PARK", "STOP", "Powertools' BatchProcessor"} <= words
    style = root.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme: dark" in style
    return root


def test_the_picture_stands_alone_in_light_and_dark(small: PoisonFigures) -> None:
    text = poison_picture(small)
    root = drawing(text)
    assert root.attrib["aria-label"] == poison_finding(small)
    assert poison_picture(replace(small)) == text


def test_the_picture_of_the_readme_is_one() -> None:
    drawing(PICTURE.read_text(encoding="utf-8"))
