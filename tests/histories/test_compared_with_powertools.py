"""The same histories through Powertools' ``BatchProcessor``: the oracle sees what it does to a
key's order, and the page that says so is the command's own output."""

from __future__ import annotations

import logging

import pytest

from tests.histories.compare import COMMAND, CONTESTANTS, HEADINGS, PAGE, row, table, table_in
from tests.histories.history import drawn

SEEDS = range(15)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


@pytest.fixture(scope="module")
def rows() -> dict[str, tuple[str, ...]]:
    return {each.name: row(each, SEEDS) for each in CONTESTANTS}


def cell(line: tuple[str, ...], heading: str) -> float:
    return float(line[HEADINGS.index(heading)].removesuffix(" s").replace(",", ""))


def test_the_oracle_sees_powertools_inversions(rows: dict[str, tuple[str, ...]]) -> None:
    theirs = rows[CONTESTANTS[-1].name]
    assert cell(theirs, "inversions") > 20
    breaches = [each for seed in range(5) for each in CONTESTANTS[-1].play(drawn(seed)).breaches]
    assert any("starts before" in breach for breach in breaches)
    assert any("ran although" in breach for breach in breaches)


def test_ours_has_none_and_fewer_duplicates(rows: dict[str, tuple[str, ...]]) -> None:
    *ours, theirs = (rows[each.name] for each in CONTESTANTS)
    for line in ours:
        assert cell(line, "inversions") == 0
        assert cell(line, "duplicates") < cell(theirs, "duplicates")


def test_with_parking_other_keys_wait_less(rows: dict[str, tuple[str, ...]]) -> None:
    parking, _, theirs = (rows[each.name] for each in CONTESTANTS)
    assert cell(parking, "other keys wait") < cell(theirs, "other keys wait")


def test_the_page_has_the_table_of_its_command(rows: dict[str, tuple[str, ...]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert COMMAND in page
    headings, _, *lines = table_in(page)
    assert headings == list(HEADINGS)
    assert [line[0] for line in lines] == [each.name for each in CONTESTANTS]
    for line in lines:
        assert len(line) == len(HEADINGS)
        assert cell(tuple(line), "records") > 1_000
    assert table_in(f"<!-- table -->\n{table(list(rows.values()))}<!-- end of table -->")[0] == (
        headings
    )
