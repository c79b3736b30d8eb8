"""Reports of run folders: what the command line calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shardlane_lab.report.as_json import json_report
from shardlane_lab.report.markdown import markdown_report
from shardlane_lab.report.summary import summarise
from shardlane_lab.report.text import text_report
from shardlane_lab.run_record import Run, read_run


def write_report(folders: Sequence[Path], out: Path) -> None:
    """Writes one self-contained HTML page for the runs, side by side, to ``out``.

    Raises ``FileNotFoundError`` for a folder without a run, ``ValueError`` for a damaged one and
    for no folder at all. A run that was stopped is no error: the page says what is missing.
    """
    # Here, because it loads matplotlib: no other command should pay seconds for that.
    from shardlane_lab.report.html import html_report

    runs = _read(folders)
    page = html_report(runs, [summarise(run) for run in runs])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")


def render_text(folders: Sequence[Path]) -> str:
    """The tables for a terminal, at most 100 columns wide. Raises as ``write_report`` does."""
    return text_report([summarise(run) for run in _read(folders)])


def render_markdown(folders: Sequence[Path]) -> str:
    """The main tables for a README. Raises as ``write_report`` does."""
    return markdown_report([summarise(run) for run in _read(folders)])


def render_json(folders: Sequence[Path]) -> str:
    """Every figure, for programs. Raises as ``write_report`` does."""
    return json_report([summarise(run) for run in _read(folders)])


def _read(folders: Sequence[Path]) -> list[Run]:
    if not folders:
        raise ValueError("no run folder given; a report needs at least one")
    return [read_run(folder) for folder in folders]
