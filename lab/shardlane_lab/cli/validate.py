"""``shardlane-lab validate``: the simulator against the published measurement."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.progress import Progress

SEEDS = 100


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "validate",
        help="compare the simulator with the published measurement",
        description="Judges the fitted values by Round 1, predicts Round 2 and prints both beside "
        "the published figures. Ends with status 0 only if every bound holds.",
    )
    parser.add_argument(
        "--seeds", type=_count, default=SEEDS, help=f"runs of each round (default: {SEEDS})"
    )
    parser.add_argument(
        "--processes", type=_count, help="how many at once (default: as many as there are CPUs)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    # Not above: no other command needs numpy, and importing it takes longer than all the rest.
    from shardlane_lab.simulator.calibration import profiles
    from shardlane_lab.simulator.validate import validate
    from shardlane_lab.simulator.validate_text import as_json, render

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        fitting = progress.add_task("fitted values, by Round 1", total=1.0)
        judged = profiles(
            processes=given.processes,
            on_progress=lambda share: progress.update(fitting, completed=share),
        )
        running = progress.add_task("both rounds, H0 and H1", total=1.0)
        validation = validate(
            given.seeds,
            processes=given.processes,
            on_progress=lambda share: progress.update(running, completed=share),
        )
    print((as_json if given.json else render)(validation, judged), end="")
    return 1 if validation.failed else 0


def _count(text: str) -> int:
    """An argparse type: a whole number from 1."""
    try:
        count = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is under 1")
    return count
