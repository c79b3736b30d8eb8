"""``shardlane-lab report``: the report of runs that are on disk."""

from __future__ import annotations

import argparse
from pathlib import Path

from shardlane_lab.errors import LabError
from shardlane_lab.report.write import render_json, render_text, write_report


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "report",
        help="report runs that are on disk, side by side",
        description="Prints the tables of one or more runs and, with --html, writes the page.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="folder of a run")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page there too")
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    try:
        print(render_json(given.runs) if given.json else render_text(given.runs))
        if given.html is not None:
            write_report(given.runs, given.html)
    except (FileNotFoundError, ValueError) as error:
        raise LabError(str(error)) from error
    return 0
