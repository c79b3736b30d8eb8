"""``shardlane-lab report``: the report of runs that are on disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from shardlane_lab.errors import LabError
from shardlane_lab.run_folders import run_folders


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "report",
        help="report runs that are on disk, side by side",
        description="Prints the tables of one or more runs and, with --html, writes the page.",
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="DIR", help="folder of a run, or of runs"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON instead of tables")
    form.add_argument("--markdown", action="store_true", help="print the main tables for a page")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page there too")
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    from shardlane_lab.report.write import write_report

    try:
        folders = run_folders(given.runs)
        print(_render(given)(folders))
        if given.html is not None:
            write_report(folders, given.html)
    except (FileNotFoundError, ValueError) as error:
        raise LabError(str(error)) from error
    return 0


def _render(given: argparse.Namespace) -> Callable[[Sequence[Path]], str]:
    from shardlane_lab.report.write import render_json, render_markdown, render_text

    if given.json:
        return render_json
    return render_markdown if given.markdown else render_text
