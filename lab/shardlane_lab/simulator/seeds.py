"""Many runs of the model, over several processes, in an order that does not depend on them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from shardlane_lab.simulator.arrivals import Load
from shardlane_lab.simulator.figures import Figures, figures
from shardlane_lab.simulator.model import simulate_shard
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.reader import Reader

CHUNK = 10
"""Seeds that a process takes at once: short enough for progress to move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything of a run but the seed."""

    load: Load
    readers: tuple[Reader, ...]
    parameters: Parameters


def run_seeds(setting: Setting, seeds: Sequence[int]) -> list[Figures]:
    return [
        figures(simulate_shard(setting.load, setting.readers, setting.parameters, seed))
        for seed in seeds
    ]


def run_settings(
    settings: Sequence[Setting],
    seeds: int,
    *,
    processes: int | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[list[Figures]]:
    """The figures of seeds 0, 1 … of every setting. ``processes``: as many as there are CPUs if
    None; 1 starts none. ``on_progress`` is told the share that is done."""
    tasks = [
        (number, range(first, min(first + CHUNK, seeds)))
        for number in range(len(settings))
        for first in range(0, seeds, CHUNK)
    ]
    found: list[list[Figures]] = [[] for _ in settings]
    chunks = _chunks([(settings[number], part) for number, part in tasks], processes)
    for done, ((number, _), chunk) in enumerate(zip(tasks, chunks, strict=True), start=1):
        found[number] += chunk
        on_progress(done / len(tasks))
    return found


def _chunks(
    tasks: Sequence[tuple[Setting, range]], processes: int | None
) -> Iterator[list[Figures]]:
    """In the order of ``tasks``."""
    workers = min(processes or os.cpu_count() or 1, len(tasks))
    if workers <= 1:
        for setting, part in tasks:
            yield run_seeds(setting, part)
        return
    # Fresh interpreters: a fork would copy whatever threads the caller has in whatever state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(run_seeds, *zip(*tasks, strict=True))
