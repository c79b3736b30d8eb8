"""What the consumer costs: beside a bare boto3 loop and other consumers, in one run.

    nice -n -10 .venv/bin/python -m bench.consumer            # minutes
    nice -n -10 .venv/bin/python -m bench.consumer --peers    # also those that `make peers` runs

The local Kinesis, without limits, and each reader are processes of their own on this machine.
Every figure is a median; the range is in parentheses.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.peers.candidates import (
    ASYNC_KINESIS,
    FAN_OUT,
    PEERS,
    POLLING,
    Missing,
    Peer,
    Where,
    bare,
    ours,
)
from bench.peers.program import Program, running
from bench.peers.records import Stream
from bench.peers.servers import REGION, local_aws, local_kinesis
from bench.peers.usage import cpu_s, load, resident_mib
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.percentile import percentile

STREAM = "orders"
SHARDS = 8
"""Enough that a consumer's five reads a second of each do not limit it."""
RECORDS = 100_000
PATIENCE_S = 300.0

Command = Sequence[str | Path]
Reader = Callable[[Where], Command]


# --- records/s --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    title: str
    mode: str
    reader: Reader


def candidates(with_peers: bool) -> Iterator[Candidate]:
    for mode in (POLLING, FAN_OUT):
        yield Candidate("bare boto3 loop", mode, partial(bare, mode=mode))
        for title, options in (
            ("shardlane, async handler", ("--handler", "async")),
            ("shardlane, plain handler", ("--handler", "thread")),
            ("shardlane, 8 lanes by key", ("--handler", "async", "--lanes", "8")),
            ("shardlane, batches", ("--handler", "batch")),
        ):
            yield Candidate(title, mode, partial(_ours, mode=mode, options=options))
    for peer in (ASYNC_KINESIS, *PEERS):
        if with_peers or peer.name in ("async-kinesis", "lifion"):
            yield from _prepared(peer)


def _ours(where: Where, mode: str, options: Sequence[str]) -> Command:
    return ours(where, mode, *options)


def _prepared(peer: Peer) -> Iterator[Candidate]:
    try:
        peer.prepare()
    except Missing as missing:
        print(f"{peer.title} is left out: {missing}", flush=True)
        return
    yield Candidate(peer.name, peer.mode, peer.started_as)


def throughput(runs: int, with_peers: bool, readers: Sequence[str]) -> None:
    print(f"\nrecords/s of {RECORDS:,} waiting records of 256 B in {SHARDS} shards")
    row("reader", "how", "records/s", "of bare", "records per CPU second", "of bare", "machine")
    row(*["---"] * 7)
    chosen = [
        each
        for each in candidates(with_peers)
        if not readers or each.title.startswith(("bare", *readers))
    ]
    floors: dict[str, tuple[float, float]] = {}
    with local_kinesis(unlimited=True) as kinesis, local_aws() as services:
        stream = created(kinesis.endpoint, SHARDS)
        stream.put(RECORDS)
        for candidate in chosen:
            places = [
                Where(kinesis.endpoint, services.endpoint, STREAM, RECORDS, named(candidate, run))
                for run in range(runs)
            ]
            try:
                rates = [rate_of(candidate.reader(where)) for where in places]
            except RuntimeError as error:
                row(candidate.title, candidate.mode, f"failed: {error}", "–", "–", "–", load())
                continue
            by_clock, by_cpu = (list(each) for each in zip(*rates, strict=True))
            middle = statistics.median(by_clock), statistics.median(by_cpu)
            floor = floors.setdefault(candidate.mode, middle)
            row(
                candidate.title,
                candidate.mode,
                ranged(by_clock, ",.0f"),
                f"{middle[0] / floor[0]:.2f} ×",
                ranged(by_cpu, ",.0f"),
                f"{middle[1] / floor[1]:.2f} ×",
                load(),
            )


def named(candidate: Candidate, run: int) -> str:
    return "-".join((*re.findall("[a-z0-9]+", candidate.title), candidate.mode, str(run)))


def rate_of(command: Command) -> tuple[float, float]:
    """Records/s of one run after the first ones, and records per second of processor time."""
    with running(Program(command)) as program:
        program.wait(PATIENCE_S)
        return program.lines_per_s(), program.lines_per_cpu_s()


# --- latency ----------------------------------------------------------------------------------

PER_S = 1_000
LATENCY_S = 10
WARM_UP = 500
SETTLING = 2 * PER_S
"""Records at the same rate that are not measured: a reader's first wait is up to twice as long as
the others, by lot, so that readers which start together do not poll together for ever."""
WAYS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (FAN_OUT, FAN_OUT, ()),
    ("polling, 200 ms", POLLING, ()),
    ("polling, 400 ms", POLLING, ("--interval", "0.4")),
)
"""How, the mode, and the options of both."""


def latency(runs: int) -> None:
    print(f"\nfrom before the put to the handler, at {PER_S:,} records/s into {SHARDS} shards, ms")
    row("how", "bare p50", "bare p99", "shardlane p50", "shardlane p99", "added p99", "machine")
    row(*["---"] * 7)
    for how, mode, options in WAYS:
        pairs = [(ages_ms(bare, mode, options), ages_ms(ours, mode, options)) for _ in range(runs)]
        cells = [
            ranged([percentile(each[side], percent) for each in pairs], ".1f")
            for side in (0, 1)
            for percent in (50, 99)
        ]
        added = [percentile(ours_, 99) - percentile(bare_, 99) for bare_, ours_ in pairs]
        row(how, *cells, ranged(added, ".1f"), load())


def ages_ms(reader: Callable[..., Command], mode: str, options: Sequence[str]) -> list[float]:
    """Ascending, of every record of the measured time."""
    count = WARM_UP + SETTLING + PER_S * LATENCY_S
    with local_kinesis(unlimited=True) as kinesis:
        stream = created(kinesis.endpoint, SHARDS)
        stream.put(WARM_UP)
        where = Where(kinesis.endpoint, "none", STREAM, count, "latency")
        with running(Program(reader(where, mode, "--timed", *options))) as program:
            program.wait_for_lines(WARM_UP, PATIENCE_S)
            stream.put(count - WARM_UP, per_s=PER_S, per_put=10)
            program.wait(PATIENCE_S)
            came_ms = dict(line.split(" ")[::2] for line in program.lines())
    measured = stream.puts[WARM_UP + SETTLING :]
    return sorted(float(came_ms[put.sequence_number]) - put.sent_ms for put in measured)


# --- lanes ------------------------------------------------------------------------------------

WORK_MS = 10
LANES = 16
KEYS = 1_000
RECORDS_ONE_LANE = 300


def lanes(runs: int) -> None:
    print(f"\na handler that waits {WORK_MS} ms for I/O, {KEYS:,} keys")
    row("handler", "one lane, records/s", f"{LANES} lanes by key, records/s", "ratio", "machine")
    row(*["---"] * 5)
    for kind in ("async", "thread"):
        one = [handled_per_s(kind, 1) for _ in range(runs)]
        many = [handled_per_s(kind, LANES) for _ in range(runs)]
        ratio = statistics.median(many) / statistics.median(one)
        row(kind, ranged(one, ",.0f"), ranged(many, ",.0f"), f"{ratio:.1f} ×", load())


def handled_per_s(kind: str, count: int) -> float:
    records = RECORDS_ONE_LANE * count
    options = ("--handler", kind, "--lanes", str(count), "--work-ms", str(WORK_MS))
    with local_kinesis(unlimited=True) as kinesis:
        created(kinesis.endpoint, SHARDS, keys=KEYS).put(records)
        where = Where(kinesis.endpoint, "none", STREAM, records, "lanes")
        with running(Program(ours(where, POLLING, *options))) as program:
            program.wait(PATIENCE_S)
            return program.lines_per_s()


# --- idle shards ------------------------------------------------------------------------------

IDLE_SHARDS = 500
IDLE_LEASES = 200
"""Shards whose leases are in DynamoDB: with more, moto does not keep up with the renewals."""
IDLE_INTERVAL_S = 5
WINDOW_S = 30.0


def idle(runs: int) -> None:
    print(f"\nidle shards, polled every {IDLE_INTERVAL_S} s, over {WINDOW_S:g} s")
    row("shards", "leases", "resident memory, MiB", "of one core, %", "machine")
    row(*["---"] * 5)
    with local_kinesis(unlimited=True) as kinesis, local_aws() as services:
        for shards, leases in ((IDLE_SHARDS, "memory"), (IDLE_LEASES, "dynamodb")):
            stream = f"{STREAM}-{shards}"
            created(kinesis.endpoint, shards, name=stream).put_one_into_each_shard()
            where = Where(kinesis.endpoint, services.endpoint, stream, shards + 1, "idle")
            command = ours(where, POLLING, "--interval", str(IDLE_INTERVAL_S), "--leases", leases)
            with running(Program(command)) as program:
                program.wait_for_lines(shards, PATIENCE_S)
                windows = [used(program) for _ in range(runs)]
            row(
                f"{shards}",
                leases,
                ranged([memory for memory, _ in windows], ".0f"),
                ranged([share for _, share in windows], ".1f"),
                load(),
            )
        floor = [bare_share(kinesis.endpoint) for _ in range(runs)]
    print(
        f"as many calls of boto3 alone as those {IDLE_SHARDS} shards take: {ranged(floor, '.1f')} %"
    )


def used(program: Program) -> tuple[float, float]:
    """Resident MiB at the end of the window, and per cent of a core over it."""
    before_s = cpu_s(program.process_id)
    program.runs_on_for(WINDOW_S)
    share = (cpu_s(program.process_id) - before_s) / WINDOW_S
    return resident_mib(program.process_id), share * 100


def bare_share(endpoint: str) -> float:
    """Per cent of a core that as many GetRecords calls cost boto3 alone in one thread, as evenly
    spread over the interval: back to back they would find everything in the processor's caches."""
    client = local_client("kinesis", endpoint, REGION)
    stream = f"{STREAM}-{IDLE_SHARDS}"
    shard = client.list_shards(StreamName=stream, MaxResults=1)["Shards"][0]["ShardId"]
    answer = client.get_shard_iterator(StreamName=stream, ShardId=shard, ShardIteratorType="LATEST")
    iterator = answer["ShardIterator"]
    before_s, began_s = time.thread_time(), time.monotonic()
    for call in range(IDLE_SHARDS):
        due_s = began_s + call * IDLE_INTERVAL_S / IDLE_SHARDS
        time.sleep(max(0.0, due_s - time.monotonic()))
        iterator = client.get_records(ShardIterator=iterator)["NextShardIterator"]
    return (time.thread_time() - before_s) / IDLE_INTERVAL_S * 100


# --- the report -------------------------------------------------------------------------------


def created(endpoint: str, shards: int, *, name: str = STREAM, keys: int = 200) -> Stream:
    client = local_client("kinesis", endpoint, REGION)
    return Stream.create(client, name, shards, keys=keys)


def ranged(values: Sequence[float], form: str) -> str:
    middle = format(statistics.median(values), form)
    return f"{middle} ({format(min(values), form)}–{format(max(values), form)})"


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


SECTIONS = ("throughput", "latency", "lanes", "idle")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", action="store_true", help="also those of `make peers`")
    parser.add_argument("--runs", type=int, default=3, help="of each measurement (default: 3)")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    parser.add_argument("--readers", nargs="*", default=[], help="only whose name begins so")
    given = parser.parse_args()
    for section in given.only:
        if section == "throughput":
            throughput(given.runs, given.peers, given.readers)
        else:
            {"latency": latency, "lanes": lanes, "idle": idle}[section](given.runs)


if __name__ == "__main__":
    main()
