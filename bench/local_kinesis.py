"""How fast the local Kinesis is, beside moto and kinesis-local where they have the call.

    python -m bench.local_kinesis            # minutes; needs moto[server], and npm for the other

Each server is a process of its own on this machine. The client is a plain socket that sends the
same bytes to all of them and parses nothing, so that the servers are measured and not the client.
The limits are off in ours: no other server has any.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bench.plain_client import Client, framed
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.serve import serve
from shardlane_lab.percentile import percentile

STREAM = "bench"
SHARD = "shardId-000000000000"
RECORDS_PER_PUT = 500
RECORDS_PER_GET = 10_000
RECORD_BYTES = 256
KINESIS_LOCAL = "kinesis-local@0.6.2"
STARTS_WITHIN_S = 60.0


# --- servers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    name: str
    command: list[str]
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None


def candidates(ours_only: bool) -> Iterator[Candidate]:
    port = free_port()
    yield Candidate(
        "local Kinesis", [sys.executable, "-m", __spec__.name, "--serve", str(port)], port
    )
    if ours_only:
        return
    port = free_port()
    moto = Path(sys.executable).parent / "moto_server"
    yield Candidate("moto_server", [str(moto), "-p", str(port)], port)
    if shutil.which("npm") is None:
        print("kinesis-local is left out: npm is not on the path")
        return
    yield kinesis_local()


def kinesis_local() -> Candidate:
    """Installed below ``out/``; it wants to run in its own folder."""
    into = Path("out/bench").resolve()
    into.mkdir(parents=True, exist_ok=True)
    install = ["npm", "install", "--prefix", str(into), "--no-audit", "--no-fund", KINESIS_LOCAL]
    subprocess.run(install, check=True, capture_output=True)
    port = free_port()
    ports = {"KINESIS_MOCK_PLAIN_PORT": str(port), "KINESIS_MOCK_TLS_PORT": str(free_port())}
    quiet = {"LOG_LEVEL": "ERROR"}
    folder = into / "node_modules/kinesis-local"
    return Candidate("kinesis-local", ["node", "main.js"], port, ports | quiet, folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Running:
    process: int
    """Its number."""
    client: Client


@contextmanager
def running(candidate: Candidate) -> Iterator[Running]:
    process = subprocess.Popen(
        candidate.command,
        env=os.environ | candidate.environment,
        cwd=candidate.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        client = _connected(candidate, process)
        try:
            yield Running(process.pid, client)
        finally:
            client.close()
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def _connected(candidate: Candidate, process: subprocess.Popen[bytes]) -> Client:
    deadline_s = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            client = Client(candidate.port)
            client.call("ListStreams", {})
            return client
        except (OSError, RuntimeError):
            time.sleep(0.1)
    raise RuntimeError(f"{candidate.name} did not start: {' '.join(candidate.command)}")


# --- what is measured -------------------------------------------------------------------------


@dataclass
class Measured:
    put_per_s: float
    get_per_s: float
    small_ms: list[float]


def measured(client: Client, at_most_s: float) -> Measured:
    client.call("CreateStream", {"StreamName": STREAM, "ShardCount": 1})
    _until_active(client)
    put = framed("PutRecords", orjson.dumps(_batch()))
    for _ in range(RECORDS_PER_GET // RECORDS_PER_PUT):
        client.exchange(put)  # what is read below, and a warm-up
    get_s = timed(client, _get(client), 100, at_most_s)
    put_s = timed(client, put, 300, at_most_s)
    small = {"StreamName": STREAM, "Data": "aGk=", "PartitionKey": "k"}
    small_s = timed(client, framed("PutRecord", orjson.dumps(small)), 300, at_most_s)
    return Measured(
        len(put_s) * RECORDS_PER_PUT / sum(put_s),
        len(get_s) * RECORDS_PER_GET / sum(get_s),
        sorted(each * 1000 for each in small_s),
    )


def _until_active(client: Client) -> None:
    for _ in range(100):
        described = client.call("DescribeStreamSummary", {"StreamName": STREAM})
        if described["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE":
            return
        time.sleep(0.1)
    raise RuntimeError("the stream did not become ACTIVE")


def _batch() -> dict[str, Any]:
    data = base64.b64encode(os.urandom(RECORD_BYTES)).decode()
    entries = [{"Data": data, "PartitionKey": f"key-{n}"} for n in range(RECORDS_PER_PUT)]
    return {"StreamName": STREAM, "Records": entries}


def _get(client: Client) -> bytes:
    request = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.call("GetShardIterator", request)["ShardIterator"]
    body = {"ShardIterator": iterator, "Limit": RECORDS_PER_GET}
    got = len(client.call("GetRecords", body)["Records"])
    if got != RECORDS_PER_GET:
        raise RuntimeError(f"GetRecords answered {got} records instead of {RECORDS_PER_GET}")
    return framed("GetRecords", orjson.dumps(body))


def timed(client: Client, request: bytes, times: int, at_most_s: float) -> list[float]:
    """Seconds of each of so many exchanges, or of as many as fit, one after the other."""
    seconds: list[float] = []
    while len(seconds) < times and sum(seconds) < at_most_s:
        started_s = time.perf_counter()
        client.exchange(request)
        seconds.append(time.perf_counter() - started_s)
    return seconds


# --- push -------------------------------------------------------------------------------------

CONSUMERS = 20
SHARDS = 10


@dataclass
class Pushed:
    ages_ms: list[float]
    """Of every delivery, from before the put until the subscriber had it."""
    server_share: float
    """Of one core, while records came."""


def pushed(server: int, port: int, records_per_s: float, seconds: float) -> Pushed:
    """``server`` is the process to watch."""
    count = int(records_per_s * seconds)
    command = [sys.executable, "-m", "bench.push_subscriber", str(port), str(count * CONSUMERS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as subscriber:
        assert subscriber.stdin is not None
        assert subscriber.stdout is not None
        for request in _subscriptions(port):
            subscriber.stdin.write(json.dumps(["SubscribeToShard", request]) + "\n")
        subscriber.stdin.close()
        if subscriber.stdout.readline() != "ready\n":
            raise RuntimeError("the subscriber did not start")
        started_s, used_s = time.perf_counter(), cpu_s(server)
        produce(port, records_per_s, count)
        share = (cpu_s(server) - used_s) / (time.perf_counter() - started_s)
        return Pushed(sorted(json.loads(subscriber.stdout.readline())), share)


def cpu_s(pid: int) -> float:
    """Processor time of a process so far (Linux: from /proc)."""
    status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(status[11]) + int(status[12])) / os.sysconf("SC_CLK_TCK")


def _subscriptions(port: int) -> list[dict[str, Any]]:
    """A stream with its consumers, and the requests that subscribe them to every shard."""
    client = Client(port)
    client.call("CreateStream", {"StreamName": "push", "ShardCount": SHARDS})
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/push"
    requests = []
    for number in range(CONSUMERS):
        made = client.call(
            "RegisterStreamConsumer", {"StreamARN": arn, "ConsumerName": f"c{number}"}
        )
        requests += [
            {
                "ConsumerARN": made["Consumer"]["ConsumerARN"],
                "ShardId": f"shardId-{shard:012d}",
                "StartingPosition": {"Type": "LATEST"},
            }
            for shard in range(SHARDS)
        ]
    client.close()
    return requests


def produce(port: int, records_per_s: float, count: int) -> None:
    """Puts one record at a time, the shards in turn, on an even schedule."""
    client = Client(port)
    started_s = time.perf_counter()
    for number in range(count):
        wait_s = started_s + number / records_per_s - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        key = (2**128 // SHARDS) * (number % SHARDS) + 1000
        record = {
            "StreamName": "push",
            "Data": base64.b64encode(repr(time.time()).encode()).decode(),
            "PartitionKey": "k",
            "ExplicitHashKey": str(key),
        }
        client.exchange(framed("PutRecord", orjson.dumps(record)))
    client.close()


# --- the report -------------------------------------------------------------------------------


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def compare(ours_only: bool, at_most_s: float) -> None:
    line("server", "PutRecords rec/s", "GetRecords rec/s", "PutRecord p50 ms", "p99 ms", "ratio")
    line(*["---"] * 6)
    ours: Measured | None = None
    for candidate in candidates(ours_only):
        try:
            with running(candidate) as server:
                seen = measured(server.client, at_most_s)
        except (RuntimeError, OSError) as error:
            print(f"{candidate.name} is left out: {error}")
            continue
        ours = ours or seen
        ratio = f"{ours.put_per_s / seen.put_per_s:.1f} × / {ours.get_per_s / seen.get_per_s:.1f} ×"
        line(
            candidate.name,
            f"{seen.put_per_s:,.0f}",
            f"{seen.get_per_s:,.0f}",
            f"{percentile(seen.small_ms, 50):.2f}",
            f"{percentile(seen.small_ms, 99):.2f}",
            ratio,
        )


def push(records_per_s: float, seconds: float) -> None:
    (ours,) = candidates(ours_only=True)
    with running(ours) as server:
        came = pushed(server.process, ours.port, records_per_s, seconds)
    ages_ms, expected = came.ages_ms, int(records_per_s * seconds) * CONSUMERS
    print(
        f"push, {CONSUMERS * SHARDS} subscriptions, {records_per_s:g} records/s put, "
        f"{records_per_s * CONSUMERS:g} deliveries/s: {len(ages_ms)} of {expected} delivered, "
        f"p50 {percentile(ages_ms, 50):.1f} ms, p90 {percentile(ages_ms, 90):.1f} ms, "
        f"p99 {percentile(ages_ms, 99):.1f} ms, max {max(ages_ms):.1f} ms; server "
        f"{came.server_share:.0%} of a core; load of the machine {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--ours-only", action="store_true", help="do not start the other servers")
    parser.add_argument("--push-only", action="store_true", help="measure only the push delay")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement, at most")
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve, limits=Limits.unlimited()))
        return
    if not given.push_only:
        compare(given.ours_only, given.seconds)
    push(50, given.seconds)
    push(1000, given.seconds)


if __name__ == "__main__":
    main()
