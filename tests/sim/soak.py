"""``python -m tests.sim.soak``: many histories, on all cores, until one breaks the contract."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

from tests.sim.history import drawn
from tests.sim.report import breach_of
from tests.sim.world import play

_EVERY = 500


def seed_breaks(seed: int) -> int | None:
    """The seed, if its history breaks the contract."""
    logging.disable(logging.CRITICAL)
    return seed if play(drawn(seed)).breach is not None else None


def breaking(first: int, count: int, processes: int) -> Iterator[int]:
    began_s = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        seeds = range(first, first + count)
        for done, seed in enumerate(pool.imap(seed_breaks, seeds, chunksize=10), start=1):
            if done % _EVERY == 0:
                print(f"{done} histories, {time.monotonic() - began_s:.0f} s", flush=True)
            if seed is not None:
                yield seed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.soak", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=20_000, help="how many")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    for seed in breaking(given.first, given.seeds, given.processes):
        print(breach_of(drawn(seed)))
        return 1
    print(f"{given.seeds} histories from seed {given.first} on kept the contract")
    return 0


if __name__ == "__main__":
    sys.exit(main())
