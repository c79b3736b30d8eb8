"""The fast event model: one shard, or several that do not touch each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.simulator.arrivals import Arrivals, Load, Times, arrivals, arrivals_at
from shardlane_lab.simulator.gate import ReadGate
from shardlane_lab.simulator.kernel import Kernel
from shardlane_lab.simulator.parameters import Parameters
from shardlane_lab.simulator.reader import Reader
from shardlane_lab.simulator.reading import Course
from shardlane_lab.simulator.shard_run import ShardRun
from shardlane_lab.simulator.shared_reads import Log, Poller, StandardPoll

SETTLE_MS = 1_000.0
"""After the last send the model looks this often whether everybody has everything."""
GIVE_UP_MS = 1_800_000.0
"""Half an hour after the last send it waits no longer."""


def simulate_shard(
    load: Load,
    readers: Sequence[Reader],
    parameters: Parameters,
    seed: int,
    schedule_ms: Times | None = None,
) -> ShardRun:
    """One shard and its readers; the same arguments give the same run, to the last bit.

    ``schedule_ms`` replaces the send times of ``load``. Raises ``ValueError`` for two readers
    with one label.
    """
    labels = [reader.label for reader in readers]
    if len(set(labels)) < len(labels):
        raise ValueError(f"every reader needs a label of its own: {labels}")
    rng = np.random.default_rng([seed, 0])
    if schedule_ms is None:
        came = arrivals(load, parameters.delays, rng)
    else:
        came = arrivals_at(schedule_ms, load, parameters.delays, rng)
    polls = _read_shared(load, came, readers, parameters, seed)
    course = Course(load, came, parameters, rng)
    readings = tuple(course.reading(reader, polls.get(reader.label)) for reader in readers)
    return ShardRun(load=load, arrivals=came, readings=readings)


def simulate_stream(
    load: Load, shards: int, readers: Sequence[Reader], parameters: Parameters, seed: int
) -> list[ShardRun]:
    """Several shards, each with its even part of the rate and a loop of its own in every reader,
    so that a shard's reading does not wait for another's."""
    part = replace(load, rate_per_s=load.rate_per_s / shards)
    # A seed of its own for every shard, so that the runs do not march in step.
    seeds = np.random.SeedSequence(seed).generate_state(shards).tolist()
    return [simulate_shard(part, readers, parameters, each) for each in seeds]


def _read_shared(
    load: Load,
    came: Arrivals,
    readers: Sequence[Reader],
    parameters: Parameters,
    seed: int,
) -> dict[str, Poller | StandardPoll]:
    """Runs everybody who calls GetRecords on the shard, until all have read everything."""
    sharing = [reader for reader in readers if reader.shares_reads]
    if not sharing:
        return {}
    mappings = sum(reader.kind == "lambda-standard" for reader in sharing)
    gate = ReadGate(parameters.limits, len(came) * load.record_bytes * len(sharing))
    visible_ms = came.visible_ms.tolist()
    limit = _records_per_answer(load, len(came), parameters.limits, gate)
    actors: list[Poller | StandardPoll] = []
    for number, reader in enumerate(sharing, start=1):
        random = Random(f"{seed}:{number}")
        log = Log(visible_ms, limit)
        if reader.kind == "lambda-standard":
            alone = mappings == 1
            actors.append(StandardPoll(log, gate, parameters, load.record_bytes, alone, random))
        else:
            actors.append(
                Poller(log, gate, parameters, load.record_bytes, reader.interval_ms, random.random)
            )
    start = Random(f"{seed}:start")
    starts_ms = [start.random() * 1000.0 - parameters.reading_before_ms for _ in actors]
    _run_until_read(Kernel(actors, starts_ms), actors, load.until_ms)
    return {reader.label: actor for reader, actor in zip(sharing, actors, strict=True)}


def _records_per_answer(load: Load, records: int, limits: Limits, gate: ReadGate) -> int | None:
    """None if no limit can cut an answer short or hold up a call because of its bytes."""
    most = max(1, min(limits.records_per_read, limits.bytes_per_read // load.record_bytes))
    return most if gate.counts_bytes or records > most else None


def _run_until_read(
    kernel: Kernel, actors: Sequence[Poller | StandardPoll], until_ms: float
) -> None:
    end_ms = until_ms
    kernel.run(end_ms)
    while end_ms < until_ms + GIVE_UP_MS and not all(actor.log.complete for actor in actors):
        end_ms += SETTLE_MS
        kernel.run(end_ms)
