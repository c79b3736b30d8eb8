"""``python -m tests.histories.compare``: the same histories through our processor and through
Powertools' ``BatchProcessor``, as the table of docs/compared-with-powertools.md."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.histories.function import Kind
from tests.histories.history import History, Policy, drawn
from tests.histories.world import Played, play

PAGE = Path(__file__).parents[2] / "docs" / "compared-with-powertools.md"
SEEDS = 300
COMMAND = f"python -m tests.histories.compare --seeds {SEEDS}"
HEADINGS = ("", "records", "handled", "given up", "inversions", "duplicates", "other keys wait")
_TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    kind: Kind
    policy: Policy

    def play(self, history: History) -> Played:
        return play(history.with_policy(self.policy), self.kind)


CONTESTANTS = (
    Contestant("`KeyedBatchProcessor`, `PARK`", "ours", Policy("park", attempts=3)),
    Contestant("`KeyedBatchProcessor`, `STOP`", "ours", Policy("stop")),
    Contestant("Powertools `BatchProcessor`", "powertools", Policy("stop")),
)


def row(contestant: Contestant, seeds: Iterable[int]) -> tuple[str, ...]:
    """One line of the table: totals over the histories of ``seeds``."""
    results = [contestant.play(drawn(seed)) for seed in seeds]
    waiting = sum(each.waiting for each in results)
    waited_s = sum(each.waited_s for each in results) / max(1, waiting)
    counts = [
        sum(each.records for each in results),
        sum(each.handled for each in results),
        sum(each.given_up for each in results),
        sum(each.inversions for each in results),
        sum(each.duplicates for each in results),
    ]
    return (contestant.name, *(f"{count:,}" for count in counts), f"{waited_s:.1f} s")


def table(rows: Sequence[Sequence[str]]) -> str:
    """As Markdown; ``rows`` without the headings."""
    lines = [HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table_in(page: str) -> list[list[str]]:
    """The table of a page, its headings first."""
    found = _TABLE.search(page)
    if found is None:
        raise ValueError(f"{PAGE.name} has no place for the table")
    lines = found.group().strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories.compare", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many histories")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    text = table([row(each, range(given.seeds)) for each in CONTESTANTS])
    print(text, end="")
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_TABLE.sub(lambda _: text, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
