"""A subscription whose client reads slowly, or leaves: nothing piles up in the server, and nothing
is lost."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator

import h2.config
import h2.connection
import h2.events
import pytest

from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.metric import Datum
from shardlane_lab.virtual_time import EPOCH_MS
from tests.contract.service import SHARD_0
from tests.contract.through_boto3 import PATIENCE_S, LoopThread

RECORDS = 36
RECORD_BYTES = 500 * 1024
"""All of them are more than the sockets of one connection hold, whatever the kernel gives them."""
CLEAN_END = b"\r\n0\r\n\r\n"


class Pushing:
    """A server with one full shard and the consumers ``slow`` and ``fast``."""

    def __init__(self, threads: LoopThread) -> None:
        self.pushed: Counter[str] = Counter()
        self._model = Kinesis(limits=Limits.unlimited(), observer=self._observe)
        self._threads = threads
        self._call("CreateStream", StreamName="s", ShardCount=1)
        arn = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
        for name in ("slow", "fast"):
            self._call("RegisterStreamConsumer", StreamARN=arn, ConsumerName=name)
        for number in range(RECORDS):
            data = bytes([number]) * RECORD_BYTES
            self._call("PutRecord", StreamName="s", PartitionKey="k", Data=data)
        # A closed shard's subscription ends, so that a reader knows when it has everything.
        self._call("SplitShard", StreamName="s", ShardToSplit=SHARD_0, NewStartingHashKey="99")
        self._server = KinesisServer(self._model, lambda: EPOCH_MS, frame_gap_ms=1)
        self.port = threads.run(self._server.start())

    def _call(self, operation: str, **request: object) -> None:
        self._model.call(operation, request, EPOCH_MS)

    def _observe(self, datum: Datum) -> None:
        if datum.name == "SubscribeToShardEvent.Records":
            self.pushed[dict(datum.dimensions)["ConsumerName"]] += int(datum.value)

    def request(self, consumer: str) -> bytes:
        found = self._model.account.streams["s"].consumers[consumer]
        position = {"Type": "TRIM_HORIZON"}
        request = {"ConsumerARN": found.arn, "ShardId": SHARD_0, "StartingPosition": position}
        return json.dumps(request).encode()

    def subscribed(self, consumer: str) -> bool:
        access = self._model.account.streams["s"].consumers[consumer].access
        return any(each.subscription is not None for each in access.values())

    def stop(self) -> None:
        self._threads.run(self._server.stop())


@pytest.fixture
def pushing(threads: LoopThread) -> Iterator[Pushing]:
    running = Pushing(threads)
    yield running
    running.stop()


Subscribe = Callable[[socket.socket, bytes], Callable[[], bytes]]
"""Sends a subscription; returns what reads it to its end."""


def over_http1(raw: socket.socket, body: bytes) -> Callable[[], bytes]:
    head = (
        "POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: Kinesis_20131202.SubscribeToShard\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    raw.sendall(head.encode() + body)

    def read() -> bytes:
        received = bytearray()
        while not received.endswith(CLEAN_END):
            part = raw.recv(1 << 20)
            assert part, "the connection ended before the answer"
            received += part
        return bytes(received)

    return read


def over_http2(raw: socket.socket, body: bytes) -> Callable[[], bytes]:
    client = h2.connection.H2Connection(h2.config.H2Configuration())
    client.initiate_connection()
    pseudo = {":method": "POST", ":path": "/", ":scheme": "http", ":authority": "x"}
    target = {"x-amz-target": "Kinesis_20131202.SubscribeToShard"}
    client.send_headers(1, list((pseudo | target).items()))
    client.send_data(1, body, end_stream=True)
    raw.sendall(client.data_to_send())

    def read() -> bytes:
        received = bytearray()
        while True:
            for event in client.receive_data(raw.recv(1 << 20)):
                if isinstance(event, h2.events.DataReceived):
                    received += event.data
                    client.acknowledge_received_data(event.flow_controlled_length, 1)
                elif isinstance(event, h2.events.StreamEnded):
                    return bytes(received)
            raw.sendall(client.data_to_send())

    return read


@pytest.mark.parametrize("subscribe", [over_http1, over_http2])
def test_a_client_that_does_not_read_holds_up_its_own_subscription_only(
    pushing: Pushing, subscribe: Subscribe
) -> None:
    with (
        socket.create_connection(("127.0.0.1", pushing.port), timeout=PATIENCE_S) as slow,
        socket.create_connection(("127.0.0.1", pushing.port), timeout=PATIENCE_S) as fast,
    ):
        read_slow = subscribe(slow, pushing.request("slow"))
        everything = subscribe(fast, pushing.request("fast"))()
        assert everything.count(b'"SequenceNumber"') == RECORDS
        assert pushing.pushed["fast"] == RECORDS
        assert pushing.pushed["slow"] < RECORDS  # it was asked for first and waits for its client
        assert read_slow().count(b'"SequenceNumber"') == RECORDS
        assert pushing.pushed["slow"] == RECORDS


def leaves_by_closing(raw: socket.socket) -> None:
    raw.close()


def leaves_by_reset(raw: socket.socket) -> None:
    """HTTP/2: the stream alone ends, the connection stays."""
    raw.sendall(b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08")


@pytest.mark.parametrize(
    ("subscribe", "leave"),
    [
        (over_http1, leaves_by_closing),
        (over_http2, leaves_by_closing),
        (over_http2, leaves_by_reset),
    ],
)
def test_the_subscription_of_a_client_that_leaves_ends(
    pushing: Pushing, subscribe: Subscribe, leave: Callable[[socket.socket], None]
) -> None:
    """Most of its events are not sent by then: it does not read."""
    raw = socket.create_connection(("127.0.0.1", pushing.port), timeout=PATIENCE_S)
    with raw:
        subscribe(raw, pushing.request("slow"))
        until(lambda: pushing.subscribed("slow"))
        leave(raw)
        until(lambda: not pushing.subscribed("slow"))
    assert pushing.pushed["slow"] < RECORDS


def until(holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up_s, "it did not come"
        time.sleep(0.01)
