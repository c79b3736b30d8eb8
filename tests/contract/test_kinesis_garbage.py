"""Garbage in: always the service's error, never a 500, never a hang.

``FUZZ_SECONDS`` makes it run longer, ``FUZZ_SEED`` repeats a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

import cbor2
import orjson
import pytest

from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.wire.http2 import PREFACE
from shardlane_lab.virtual_time import EPOCH_MS
from tests.contract.garbage import CBOR, Garbage

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
ANSWER_S = 5.0


class Connection:
    """One HTTP/1.1 connection that is opened again when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def call(
        self, operation: str, kind: str, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            f"POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: Kinesis_20131202.{operation}\r\n"
            f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await asyncio.wait_for(self._answer(), ANSWER_S)
        if answer[1].get("transfer-encoding") or answer[1].get("connection") == "close":
            await self.close()
        return answer

    async def _answer(self) -> tuple[int, dict[str, str], bytes]:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        size = int(headers.get("content-length", "0"))
        return int(head[0].split()[1]), headers, await self._reader.readexactly(size)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            await self._writer.wait_closed()
            self._writer = None


async def prepared(model: Kinesis, garbage: Garbage) -> None:
    """A stream with a consumer, and tokens of it that the garbage may use."""
    for name in ("orders", "other"):
        model.call("CreateStream", {"StreamName": name, "ShardCount": 2}, EPOCH_MS)
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    made = model.call("RegisterStreamConsumer", {"StreamARN": arn, "ConsumerName": "efo"}, EPOCH_MS)
    put = {"StreamName": "orders", "Data": b"x", "PartitionKey": "k"}
    number = model.call("PutRecord", put, EPOCH_MS)["SequenceNumber"]
    page = model.call("ListShards", {"StreamName": "orders", "MaxResults": 1}, EPOCH_MS)
    request = {
        "StreamName": "orders",
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "TRIM_HORIZON",
    }
    iterator = model.call("GetShardIterator", request, EPOCH_MS)["ShardIterator"]
    garbage.issued = [arn, made["Consumer"]["ConsumerARN"], number, page["NextToken"], iterator]


def judged(seed: int, operation: str, answer: tuple[int, dict[str, str], bytes]) -> int:
    """The status, if the answer is one that the service could give."""
    status, headers, body = answer
    assert status in (200, 400), f"seed {seed}: {operation} got {status}: {body[:300]!r}"
    if status == 400:
        error = cbor2.loads(body) if headers["content-type"] == CBOR else orjson.loads(body)
        assert error["__type"], f"seed {seed}: {operation}"
        assert error["message"], f"seed {seed}: {operation}"
    return status


async def fuzz_round(garbage: Garbage, seed: int) -> list[int]:
    """Some hundred requests to a fresh service; their statuses."""
    model = Kinesis(limits=Limits.unlimited())
    await prepared(model, garbage)
    server = KinesisServer(model, lambda: EPOCH_MS, frame_gap_ms=0)
    connection = Connection(await server.start())
    statuses = []
    try:
        for _ in range(300):
            operation, kind, body = garbage.request()
            answer = await connection.call(operation or "-", kind, body)
            statuses.append(judged(seed, operation, answer))
    finally:
        await connection.close()
        await server.stop()
    return statuses


async def fuzz_calls(seed: int, seconds: float) -> list[int]:
    garbage, statuses = Garbage(seed), list[int]()
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        statuses += await fuzz_round(garbage, seed)
    return statuses


@pytest.mark.slow("20 s of fuzzing")
def test_calls_that_make_no_sense_get_the_services_error() -> None:
    seed = int(os.environ.get("FUZZ_SEED", time.time_ns() % 10**9))
    statuses = asyncio.run(fuzz_calls(seed, SECONDS * 0.75))
    share = statuses.count(200) / len(statuses)
    assert 0.02 < share < 0.9, f"seed {seed}: {share:.0%} got past the checks"


async def ends(port: int, data: bytes) -> None:
    """Sends bytes and says goodbye: the server must end the connection, whatever they were."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), ANSWER_S)
    except ConnectionError:
        pass  # ended with a reset
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def fuzz_bytes(seed: int, seconds: float, caplog: pytest.LogCaptureFixture) -> int:
    garbage = Garbage(seed)
    server = KinesisServer(Kinesis(limits=Limits.unlimited()), lambda: EPOCH_MS)
    port = await server.start()
    request = (
        b"POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: Kinesis_20131202.ListStreams\r\n"
        b"content-type: application/x-amz-json-1.1\r\ncontent-length: 2\r\n\r\n{}"
    )
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    sent = 0
    deadline_s = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline_s:
            seeds = [request, PREFACE + settings * 3, garbage.random.randbytes(200)]
            data = garbage.random.choice(seeds)
            keep = len(PREFACE) if data.startswith(PREFACE) else 0
            await ends(port, data[:keep] + garbage.mutated(data[keep:]))
            sent += 1
        connection = Connection(port)
        status, _, _ = await connection.call("ListStreams", "application/json", b"{}")
        assert status == 200, f"seed {seed}: the server does not answer any more"
        await connection.close()
    finally:
        await server.stop()
    assert not caplog.records, f"seed {seed}: {caplog.records[0].getMessage()}"
    return sent


@pytest.mark.slow("a share of the 20 s of fuzzing")
def test_bytes_that_are_no_http_end_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    seed = int(os.environ.get("FUZZ_SEED", time.time_ns() % 10**9))
    assert asyncio.run(fuzz_bytes(seed, SECONDS * 0.25, caplog)) > 100
