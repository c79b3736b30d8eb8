"""Clients that nobody here wrote, unchanged, against the local Kinesis over HTTP: the AWS SDK for
JavaScript, the AWS CLI, async-kinesis and lifion-kinesis.

``make setup`` installs them (``tests/contract/js/package.json``, ``requirements-clients.txt``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shardlane_lab.local_kinesis.faults import Fault, FaultKind, FaultPlan
from shardlane_lab.local_kinesis.http import FRAME_GAP_MS, KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.serve import system_wall_ms
from shardlane_lab.virtual_time import EPOCH_MS
from tests.contract.service import SHARD_0, STREAM
from tests.contract.through_boto3 import LoopThread

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE_S = 60
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def environment() -> dict[str, str]:
    """Nothing of the developer's own AWS configuration reaches a client."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    missing = str(ROOT / "no-such-file")
    return kept | CREDENTIALS | {"AWS_CONFIG_FILE": missing, "AWS_SHARED_CREDENTIALS_FILE": missing}


def needed(path: Path) -> str:
    assert path.exists(), f"{path.relative_to(ROOT)} is missing: run `make setup`"
    return str(path)


class Running:
    """A served model. Its clock stands still unless it is this machine's."""

    def __init__(self, threads: LoopThread, *, real_time: bool = False) -> None:
        self.model = Kinesis()
        self.wall_ms: Callable[[], float] = system_wall_ms if real_time else lambda: EPOCH_MS
        self._threads = threads
        # Real time is for lifion, which loses frames that it reads together: a busy machine makes
        # that of a few milliseconds.
        gap_ms = 100.0 if real_time else FRAME_GAP_MS
        self._server = KinesisServer(self.model, self.wall_ms, frame_gap_ms=gap_ms)
        self.endpoint = f"http://127.0.0.1:{threads.run(self._server.start())}"
        self._put = 0

    def call(self, operation: str, **request: Any) -> None:
        """On the server's own thread, as the model wants it."""
        self._threads.run(self._call(operation, request))

    async def _call(self, operation: str, request: dict[str, Any]) -> None:
        self.model.call(operation, request, self.wall_ms())

    def put(self, count: int) -> None:
        for number in range(self._put, self._put + count):
            data = b"r%d" % number
            self.call("PutRecord", StreamName=STREAM, Data=data, PartitionKey=str(number))
        self._put += count

    def split(self) -> None:
        self.call(
            "SplitShard", StreamName=STREAM, ShardToSplit=SHARD_0, NewStartingHashKey=str(2**127)
        )

    def stop(self) -> None:
        self._threads.run(self._server.stop())


@pytest.fixture
def served(threads: LoopThread) -> Iterator[Running]:
    running = Running(threads)
    yield running
    running.stop()


@pytest.fixture
def served_in_real_time(threads: LoopThread) -> Iterator[Running]:
    running = Running(threads, real_time=True)
    yield running
    running.stop()


# --- the AWS SDK for JavaScript v3 (HTTP/2 with prior knowledge) ------------------------------


def javascript(scenario: str, served: Running) -> dict[str, Any]:
    needed(HERE / "js/node_modules/@aws-sdk/client-kinesis")
    done = subprocess.run(
        ["node", HERE / "js/sdk.mjs", scenario, served.endpoint],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_javascript_puts_and_gets(served: Running) -> None:
    seen = javascript("putAndGet", served)
    assert seen["data"] == ["one", "two", "three"]
    assert (seen["shard"], seen["failed"], seen["behind"]) == (SHARD_0, 0, 0)
    assert seen["arrival"] == EPOCH_MS


def test_javascript_gets_an_answer_larger_than_its_window(served: Running) -> None:
    """Its HTTP/2 window is 64 KiB, and it says GOAWAY before it has read the body."""
    assert javascript("largeAnswer", served) == {"bytes": 900_000}


def test_javascript_subscribes(served: Running) -> None:
    assert javascript("subscribe", served) == {"data": ["one", "two"]}


def test_javascript_sees_the_end_of_a_shard(served: Running) -> None:
    children = ["shardId-000000000001", "shardId-000000000002"]
    assert javascript("endOfShard", served) == {
        "iterator": None,
        "polledChildren": children,
        "pushedChildren": children,
    }


def test_javascript_is_throttled(served: Running) -> None:
    throttled = "ProvisionedThroughputExceededException"
    assert javascript("throttling", served)["outcomes"] == ["ok"] * 5 + [throttled] * 2


@pytest.mark.parametrize(
    ("fault", "seen", "words"),
    [
        (Fault(kind=FaultKind.EXCEPTION_FRAME), [], "InternalFailureException"),
        (Fault(kind=FaultKind.EXCEPTION_FIRST), [], "InternalFailureException"),
        (Fault(kind=FaultKind.CUT_BETWEEN_FRAMES), [1], "ECONNRESET"),
        (Fault(kind=FaultKind.CUT_INSIDE_FRAME), [], "ECONNRESET"),
        (Fault(kind=FaultKind.TRUNCATED_FRAME), [], "Truncated event message"),
        (Fault(kind=FaultKind.CORRUPT_CRC), [], "checksum"),
    ],
    ids=lambda value: value.kind.value if isinstance(value, Fault) else "",
)
def test_javascript_sees_a_broken_subscription(
    served: Running, fault: Fault, seen: list[int], words: str
) -> None:
    served.model.faults = FaultPlan((fault,))
    broken = javascript("brokenSubscription", served)
    assert words in broken["end"]
    assert broken["seen"] == seen


# --- the AWS CLI ------------------------------------------------------------------------------


def aws(served: Running, *arguments: str) -> Any:
    command = [needed(Path(sys.executable).parent / "aws"), "--endpoint-url", served.endpoint]
    done = subprocess.run(
        [*command, "kinesis", *arguments],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


@pytest.mark.slow("the AWS CLI takes its time to start, four times")
def test_the_aws_cli_creates_puts_and_gets(served: Running) -> None:
    aws(served, "create-stream", "--stream-name", STREAM, "--shard-count", "1")
    put = ("put-record", "--stream-name", STREAM, "--partition-key", "k", "--data", "aGk=")
    assert aws(served, *put)["ShardId"] == SHARD_0
    where = ("--stream-name", STREAM, "--shard-id", SHARD_0)
    kind = ("--shard-iterator-type", "TRIM_HORIZON")
    iterator = aws(served, "get-shard-iterator", *where, *kind)["ShardIterator"]
    (record,) = aws(served, "get-records", "--shard-iterator", iterator)["Records"]
    assert (record["PartitionKey"], len(record["SequenceNumber"])) == ("k", 56)


# --- readers across a split -------------------------------------------------------------------


class Reader:
    """A foreign reader as a process that prints the data of each record on a line."""

    def __init__(self, *command: str | Path) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def first(self, count: int) -> None:
        """Waits for so many lines; an end before it fails the test in ``rest``."""
        assert self._process.stdout is not None
        self.lines += [self._process.stdout.readline().strip() for _ in range(count)]

    def rest(self) -> None:
        """Waits until it has seen everything and stops by itself."""
        try:
            lines, errors = self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            lines, errors = self._process.communicate()
            pytest.fail(f"saw {self.lines + lines.split()} and then nothing: {errors}")
        self.lines += lines.split()
        assert self._process.returncode == 0, errors

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def reads_across_a_split(served: Running, *command: str | Path) -> list[str]:
    """What a reader that runs saw of 20 records before a split and 40 after it."""
    served.call("CreateStream", StreamName=STREAM, ShardCount=1)
    served.put(20)
    reader = Reader(*command)
    try:
        reader.first(20)
        served.split()
        served.put(40)
        reader.rest()
    finally:
        reader.kill()
    return reader.lines


EVERY_RECORD = {f"r{number}" for number in range(60)}


@pytest.mark.slow("an interpreter with aiobotocore starts, and its shards take turns every second")
def test_async_kinesis_reads_every_record_across_a_split(served_in_real_time: Running) -> None:
    """The split is there when the reader starts: it looks for new shards once a minute only."""
    served = served_in_real_time
    served.call("CreateStream", StreamName=STREAM, ShardCount=1)
    served.put(20)
    served.split()
    served.put(40)
    python = needed(ROOT / ".venv/clients/bin/python")
    script = HERE / "clients/async_kinesis_reader.py"
    reader = Reader(python, script, served.endpoint, STREAM, "60")
    reader.rest()
    assert set(reader.lines) == EVERY_RECORD
    assert len(reader.lines) == 60


@pytest.fixture
def dynamodb() -> Iterator[str]:
    """The endpoint of moto's DynamoDB, where lifion keeps its leases."""
    with subprocess.Popen(
        [sys.executable, HERE / "clients/dynamodb.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()  # closes its input, which ends it


@pytest.mark.slow("the reader waits 5 s for its lease table and discovers children by its timers")
@pytest.mark.parametrize("mode", ["polling", "fan-out"])
def test_lifion_reads_every_record_across_a_split(
    served_in_real_time: Running, dynamodb: str, mode: str
) -> None:
    needed(HERE / "js/node_modules/lifion-kinesis")
    node = ("node", "-r", HERE / "js/dns.cjs", HERE / "js/lifion.cjs")
    command = (*node, served_in_real_time.endpoint, dynamodb, "60", mode)
    seen = reads_across_a_split(served_in_real_time, *command)
    assert set(seen) == EVERY_RECORD
    assert len(seen) == 60
