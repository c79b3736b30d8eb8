"""``python -m tests.histories.soak``: many histories of keyed batches and of redrives under fire,
on all cores, until one breaks the contract."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from random import Random

from shardlane.parking.memory_store import MemoryParkingStore
from tests.flows.lambda_batch.parking_world import CROWD, FIRE, STORM, World, played
from tests.histories.history import drawn
from tests.histories.report import breach_of
from tests.histories.world import play

_EVERY = 500


def batches_break(seed: int) -> bool:
    logging.disable(logging.CRITICAL)
    return bool(play(drawn(seed)).breaches)


def redrives_break(seed: int) -> bool:
    logging.disable(logging.CRITICAL)
    return bool(broken_redrives(seed))


def broken_redrives(seed: int) -> list[str]:
    """By turns in a storm, under fire and in a crowd."""
    weather = (STORM, FIRE, CROWD)[seed % 3]
    with played(World(Random(seed), MemoryParkingStore(), weather)) as broken:
        return broken


def first_breaking(
    breaks: Callable[[int], bool], seeds: Iterable[int], processes: int
) -> int | None:
    seeds, began_s = list(seeds), time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, broken in enumerate(pool.imap(breaks, seeds, chunksize=10), start=1):
            if broken:
                return seeds[done - 1]
            if done % _EVERY == 0:
                print(f"{done} histories, {time.monotonic() - began_s:.0f} s", flush=True)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.histories.soak", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=2_000, help="histories of batches")
    parser.add_argument("--redrives", type=int, default=500, help="histories of redrives")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    batches = range(given.first, given.first + given.seeds)
    seed = first_breaking(batches_break, batches, given.processes)
    if seed is not None:
        print(f"seed {seed}\n{breach_of(drawn(seed))}")
        return 1
    redrives = range(given.first, given.first + given.redrives)
    seed = first_breaking(redrives_break, redrives, given.processes)
    if seed is not None:
        print(f"redrive seed {seed}", *broken_redrives(seed), sep="\n")
        return 1
    print(
        f"{given.seeds} histories of batches and {given.redrives} of redrives from seed "
        f"{given.first} on kept the contract"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
