"""Tables on a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shardlane_lab.report.compared import Compared
from shardlane_lab.report.table import Cell, Group, Table, cells, compared_cell
from shardlane_lab.report.text import WIDTH, table_lines
from shardlane_lab.report.wording import ms_text
from shardlane_lab.report.write import render_text
from shardlane_lab.run_record import write_run
from tests.unit.report.golden_report import seeded_folders
from tests.unit.report.seeded_run import seeded_run


def test_published_values_stand_under_the_runs_own_with_digits_aligned() -> None:
    compared = Compared(68.12, "calibrated", 68.3)
    row = (Cell("lambda-efo"), compared_cell(compared, ms_text), Cell("–"))
    table = Table("t", "Title", ("consumer", "p50", "max"), (Group("", "", (row,)),), stacked=True)
    assert table_lines(table) == [
        "Title",
        "=====",
        "",
        "consumer       p50  max",
        "-----------  -----  ---",
        "lambda-efo   68.1c   –",
        "  published  68.3",
        "  ratio      1.00",
    ]


def test_a_table_that_is_too_wide_goes_on_below_with_its_first_column_again() -> None:
    columns = ("name", *(f"a rather long column {number}" for number in range(8)))
    row = cells("row", *(str(number) for number in range(8)))
    lines = table_lines(Table("t", "Title", columns, (Group("", "", (row,)),)))
    assert max(len(line) for line in lines) <= WIDTH
    heads = [line for line in lines if line.startswith("name")]
    assert len(heads) == 2
    assert sum(head.count("a rather long column") for head in heads) == 8


def test_no_line_is_wider_than_a_terminal(tmp_path: Path) -> None:
    lines = render_text(seeded_folders(tmp_path)).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    assert not any(line != line.rstrip() for line in lines)


def test_a_run_beside_nothing_published_has_no_comparison(tmp_path: Path) -> None:
    write_run(tmp_path, seeded_run(seconds=20, published_round=None))
    text = render_text([tmp_path])
    assert "\n  published" not in text
    assert "\n  ratio" not in text
    assert "×" not in text


def test_tables_do_not_wait_for_the_plotting_library() -> None:
    code = "import sys, shardlane_lab.report.write; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = seeded_folders(tmp_path / "a"), seeded_folders(tmp_path / "b")
    assert render_text(first) == render_text(second)
