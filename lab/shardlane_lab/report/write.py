"""Reports of run folders: what the command line calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shardlane_lab.report.as_json import json_report
from shardlane_lab.report.markdown import markdown_report
from shardlane_lab.report.poison.figures import PoisonFigures, holds_poison, read_poison
from shardlane_lab.report.summary import summarise
from shardlane_lab.report.text import text_report
from shardlane_lab.run_record import Run, read_run


def write_report(folders: Sequence[Path], out: Path) -> None:
    """Writes one self-contained HTML page for the runs, side by side, to ``out``.

    A folder may hold a poison comparison instead of a run; it comes first. Raises
    ``FileNotFoundError`` for a folder with neither, ``ValueError`` for a damaged one, for two
    poison comparisons and for no folder at all. A run that was stopped is no error: the page says
    what is missing.
    """
    # Here, because it loads matplotlib: no other command should pay seconds for that.
    from shardlane_lab.report.html import html_report

    runs, poison = _read(folders)
    page = html_report(runs, [summarise(run) for run in runs], poison)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")


def render_text(folders: Sequence[Path]) -> str:
    """The tables for a terminal, at most 100 columns wide. Raises as ``write_report`` does."""
    runs, poison = _read(folders)
    return text_report([summarise(run) for run in runs], poison)


def render_markdown(folders: Sequence[Path]) -> str:
    """The main tables for a README. Raises as ``write_report`` does."""
    runs, poison = _read(folders)
    return markdown_report([summarise(run) for run in runs], poison)


def render_json(folders: Sequence[Path]) -> str:
    """Every figure, for programs. Raises as ``write_report`` does."""
    runs, poison = _read(folders)
    return json_report([summarise(run) for run in runs], poison)


def _read(folders: Sequence[Path]) -> tuple[list[Run], PoisonFigures | None]:
    if not folders:
        raise ValueError("no run folder given; a report needs at least one")
    comparisons = [folder for folder in folders if holds_poison(folder)]
    if len(comparisons) > 1:
        raise ValueError(
            f"{', '.join(map(str, comparisons))} hold a poison comparison each; a report shows one"
        )
    poison = read_poison(comparisons[0]) if comparisons else None
    return [read_run(folder) for folder in folders if folder not in comparisons], poison
