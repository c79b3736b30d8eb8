"""``shardlane-lab poison``: one bad record among many keys, under each policy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardlane_lab.poison import Policy
    from shardlane_lab.report.poison.figures import PoisonFigures

FOLDER = "poison"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "poison",
        help="compare what one poison record does to other keys under each policy",
        description="One record that cannot be handled, among many keys on a busy shard, in "
        "virtual time: parked, stopped at, and left to Powertools' BatchProcessor. Prints the "
        "table; a folder that --out wrote can be given to `report`.",
    )
    parser.add_argument("--seed", type=int, default=1, help="of keys and waits (default: 1)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the figures there")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the figure there")
    parser.set_defaults(execute=execute)


def execute(given: argparse.Namespace) -> int:
    from shardlane_lab.report.poison.figures import write_poison
    from shardlane_lab.report.text import poison_text

    figures = compared(given.seed)
    print(poison_text(figures))
    if given.out is not None:
        write_poison(given.out, figures)
        print(f"figures: {given.out}")
    if given.svg is not None:
        from shardlane_lab.report.poison.picture import poison_picture

        given.svg.parent.mkdir(parents=True, exist_ok=True)
        given.svg.write_text(poison_picture(figures), encoding="utf-8")
        print(f"figure:  {given.svg}")
    return 0


def compared(seed: int = 1) -> PoisonFigures:
    """The comparison, with its progress on a terminal."""
    from rich.console import Console

    from shardlane_lab.report.poison.figures import poison_figures
    from shardlane_lab.report.poison.words import NAMES

    with Console(stderr=True).status("One poison record among many keys …") as status:

        def say(policy: Policy) -> None:
            status.update(f"One poison record among many keys: {NAMES[policy]} …")

        return poison_figures(seed=seed, on_policy=say)
