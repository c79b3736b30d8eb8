"""``shardlane-lab demo``: both rounds of the published comparison, short, what one poison record
does, and one report."""

from __future__ import annotations

import argparse
from pathlib import Path

from shardlane_lab import experiment_file
from shardlane_lab.cli.options import add_app, positive_seconds, template
from shardlane_lab.cli.poison import FOLDER, compared
from shardlane_lab.cli.run import run_into

ROUNDS = ("round-1", "round-2")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="run both rounds of the published comparison and report them",
        description="Runs round-1 and round-2 on this machine and prints their tables beside the "
        "published ones; then compares what one poison record does to other keys, in virtual "
        "time. Writes one report.",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds, default=30.0, help="how long each round (default: 30)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/demo"), metavar="DIR")
    add_app(parser)
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    print("Synthesizing the CDK app …", flush=True)
    deployed = template(given)
    status = 0
    for name in ROUNDS:
        chosen = experiment_file.load(experiment_file.find(name))
        status |= run_into(given.out / name, chosen, deployed, given.seconds)
    folders = [given.out / name for name in ROUNDS]
    from shardlane_lab.report.poison.figures import write_poison
    from shardlane_lab.report.text import poison_text
    from shardlane_lab.report.write import render_text, write_report

    print(render_text(folders))
    figures = compared()
    write_poison(given.out / FOLDER, figures)
    write_report([given.out / FOLDER, *folders], given.out / "report.html")
    print(poison_text(figures))
    print(f"report:  {given.out / 'report.html'}")
    for folder in folders:
        print(f"samples: {folder / 'samples.jsonl'}")
    return status
