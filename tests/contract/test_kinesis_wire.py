"""The wire itself: HTTP/1.1, HTTP/2, CBOR, TLS, errors and the admin route, spoken by hand."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import socket
import ssl
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import cbor2
import h2.config
import h2.connection
import h2.events
import pytest
from botocore.config import Config

from shardlane_lab.local_kinesis.certificate import self_signed, server_context
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.wire.http2 import PREFACE
from shardlane_lab.virtual_time import EPOCH_MS
from tests.contract.through_boto3 import LoopThread

JSON = "application/x-amz-json-1.1"
CBOR = "application/x-amz-cbor-1.1"
TARGET = "Kinesis_20131202."


class Server:
    def __init__(self, threads: LoopThread, tls: ssl.SSLContext | None = None) -> None:
        self.model = Kinesis()
        self._threads = threads
        self._server = KinesisServer(self.model, lambda: EPOCH_MS, tls=tls)
        self.port = threads.run(self._server.start())

    def stop(self) -> None:
        self._threads.run(self._server.stop())


@pytest.fixture
def server(threads: LoopThread) -> Iterator[Server]:
    running = Server(threads)
    yield running
    running.stop()


def send(
    server: Server, body: bytes, headers: dict[str, str], method: str = "POST", path: str = "/"
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (names in lower case) and body of one request on one connection."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, named, answer.read()


def call(
    server: Server, operation: str, request: dict[str, Any], kind: str = JSON
) -> tuple[int, Any]:
    body = json.dumps(request).encode() if kind == JSON else cbor2.dumps(request)
    headers = {"X-Amz-Target": TARGET + operation, "Content-Type": kind}
    status, named, answer = send(server, body, headers)
    assert named["content-type"] == kind
    if not answer:
        return status, None
    return status, json.loads(answer) if kind == JSON else cbor2.loads(answer, **RAW_TIME)


RAW_TIME: dict[str, Any] = {
    "semantic_decoders": {1: lambda value, _immutable: ("time", value)},
}


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "target", "code"),
    [
        (b"{", "ListStreams", "SerializationException"),
        (b"[]", "ListStreams", "SerializationException"),
        (b"\xff\xfe", "ListStreams", "SerializationException"),
        (b'{"Limit": "many"}', "ListStreams", "SerializationException"),
        (b'{"Limit": true}', "ListStreams", "SerializationException"),
        (b'{"Limit": 1e400}', "ListStreams", "SerializationException"),
        (b'{"Limit": 0}', "ListStreams", "ValidationException"),
        (b'{"StreamName": 3}', "DescribeStream", "SerializationException"),
        (b'{"StreamName": "s", "Data": "@@@", "PartitionKey": "k"}', "PutRecord", "Serialization"),
        (b'{"StreamName": "s", "Data": {}, "PartitionKey": "k"}', "PutRecord", "Serialization"),
        (b'{"StreamName": "s", "Records": {}}', "PutRecords", "SerializationException"),
        (b'{"StreamName": "s", "Records": [3]}', "PutRecords", "SerializationException"),
        (b"{}", "CreateStream", "ValidationException"),
        (b"{}", "SubscribeToShard", "ValidationException"),
        (b"{}", "Fly", "UnknownOperationException"),
        (b"{}", "CreateChannel", "UnknownOperationException"),
        (b"{}", "", "UnknownOperationException"),
    ],
)
def test_a_wrong_request_gets_the_services_error(
    server: Server, body: bytes, target: str, code: str
) -> None:
    """Common Errors, API Reference; JSON 1.1: ``__type`` and ``message``."""
    headers = {"X-Amz-Target": TARGET + target, "Content-Type": JSON}
    status, named, answer = send(server, body, headers)
    error = json.loads(answer)
    assert status == 400
    assert error["__type"].startswith(code)
    assert error["message"]
    assert named["x-amzn-errortype"] == error["__type"]
    assert len(named["x-amzn-requestid"]) == 36


def test_every_answer_tells_the_services_time(server: Server) -> None:
    """Clients correct their clocks by it: ``Date`` (RFC 9110, section 6.6.1)."""
    expected = dt.datetime.fromtimestamp(EPOCH_MS / 1000, dt.UTC).strftime(
        "%a, %d %b %Y %H:%M:%S GMT"
    )
    for target in ("ListStreams", "NoSuchOperation"):
        headers = {"X-Amz-Target": TARGET + target, "Content-Type": JSON}
        _, named, _ = send(server, b"{}", headers)
        assert named["date"] == expected


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_only_post_is_a_call(server: Server, method: str) -> None:
    status, _, _ = send(server, b"", {"X-Amz-Target": TARGET + "ListStreams"}, method)
    assert status == 400


def test_a_request_without_a_target_is_told_what_is_missing(server: Server) -> None:
    _, _, answer = send(server, b"{}", {})
    assert b"X-Amz-Target" in answer


def test_unknown_members_are_ignored(server: Server) -> None:
    assert call(server, "ListStreams", {"Colour": "blue"})[0] == 200


def test_several_violations_come_in_one_error(server: Server) -> None:
    request = {"StreamName": "", "Data": "", "PartitionKey": ""}
    _, error = call(server, "PutRecord", request)
    assert error["message"].startswith("3 validation errors detected: ")
    assert "'streamName'" in error["message"]
    assert "'partitionKey'" in error["message"]


def test_a_body_over_the_cap_is_refused(server: Server) -> None:
    """Before it is read to its end: the client sees the answer or a closed connection."""
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(head)
        try:
            for _ in range(40):
                raw.sendall(b"x" * 2**20)
        except OSError:
            return  # closed in the face of what it no longer reads
        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("text", [b"hello\r\n\r\n", b"\x00\x01\x02", b"PRI * HTTP/3.0\r\n\r\n"])
def test_what_is_not_http_is_refused(server: Server, text: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(text)
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")
        raw.settimeout(10)
        while raw.recv(1000):
            pass  # and the connection ends


# --- HTTP/1.1 ---------------------------------------------------------------------------------


def test_requests_of_one_connection_are_answered_in_their_order(server: Server) -> None:
    """Pipelined, in one write, cut at odd places."""
    one = (
        f"POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: {TARGET}ListStreams\r\n"
        f"content-length: 2\r\n\r\n{{}}"
    ).encode()
    bad = one.replace(b"ListStreams", b"ListStorms_")
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        data = one + bad + one
        for start in range(0, len(data), 37):
            raw.sendall(data[start : start + 37])
        text = b""
        while text.count(b"HTTP/1.1 ") < 3 or not text.endswith(b"}"):
            text += raw.recv(10_000)
    statuses = [part[:3] for part in text.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"400", b"200"]


def test_a_large_body_may_wait_for_continue(server: Server) -> None:
    """curl asks first: ``Expect: 100-continue``."""
    head = (
        f"POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: {TARGET}ListStreams\r\n"
        f"content-length: 2\r\nexpect: 100-continue\r\n\r\n"
    ).encode()
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(head)
        assert raw.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.sendall(b"{}")
        assert raw.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_connection_closes_when_the_client_asks_for_it(server: Server) -> None:
    headers = {"X-Amz-Target": TARGET + "ListStreams", "Connection": "close"}
    status, named, _ = send(server, b"{}", headers)
    assert (status, named["connection"]) == (200, "close")


# --- HTTP/2 -----------------------------------------------------------------------------------


def h2_request(raw: socket.socket, target: str, body: bytes) -> tuple[dict[str, str], bytes]:
    """One request on a fresh HTTP/2 connection."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    client.send_headers(
        1,
        [
            (":method", "POST"),
            (":path", "/"),
            (":scheme", "http"),
            (":authority", "x"),
            ("x-amz-target", TARGET + target),
            ("content-type", JSON),
        ],
    )
    client.send_data(1, body, end_stream=True)
    raw.sendall(client.data_to_send())
    headers: dict[str, str] = {}
    answer = b""
    while True:
        for event in client.receive_data(raw.recv(65_536)):
            if isinstance(event, h2.events.ResponseReceived):
                headers = {str(name): str(value) for name, value in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                answer += event.data
                client.acknowledge_received_data(event.flow_controlled_length, 1)
            elif isinstance(event, h2.events.StreamEnded):
                return headers, answer
        raw.sendall(client.data_to_send())


def test_http2_with_prior_knowledge_on_the_same_port(server: Server) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        headers, answer = h2_request(raw, "ListStreams", b"{}")
    assert headers[":status"] == "200"
    assert json.loads(answer)["StreamNames"] == []


def test_an_http2_answer_larger_than_the_window_arrives_whole(server: Server) -> None:
    call(server, "CreateStream", {"StreamName": "orders", "ShardCount": 1000})
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        _, answer = h2_request(raw, "ListShards", b'{"StreamName": "orders"}')
    assert len(answer) > 200_000
    assert len(json.loads(answer)["Shards"]) == 1000


def test_broken_http2_ends_the_connection(server: Server) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        headers_of_nonsense = b"\x00\x00\x04\x01\x04\x00\x00\x00\x01abcd"
        raw.sendall(PREFACE + headers_of_nonsense)
        while raw.recv(1000):
            pass


# --- CBOR -------------------------------------------------------------------------------------


def test_cbor_blobs_are_bytes_and_timestamps_milliseconds(server: Server) -> None:
    """What the Java SDKs send and expect: tag 1 holds milliseconds."""
    assert call(server, "CreateStream", {"StreamName": "s", "ShardCount": 1}, CBOR) == (200, None)
    put = {"StreamName": "s", "Data": b"\x00\xff", "PartitionKey": "k"}
    assert call(server, "PutRecord", put, CBOR)[1]["ShardId"] == "shardId-000000000000"
    position = {
        "StreamName": "s",
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "AT_TIMESTAMP",
        "Timestamp": cbor2.CBORTag(1, int(EPOCH_MS)),
    }
    _, iterator = call(server, "GetShardIterator", position, CBOR)
    _, answer = call(server, "GetRecords", iterator, CBOR)
    (record,) = answer["Records"]
    assert record["Data"] == b"\x00\xff"
    assert record["ApproximateArrivalTimestamp"] == ("time", int(EPOCH_MS))
    assert call(server, "GetRecords", iterator)[1]["Records"][0]["Data"] == "AP8="


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff", "SerializationException"),
        (b"\xa1", "SerializationException"),
        (cbor2.dumps([1]), "SerializationException"),
        (cbor2.dumps({"Limit": "many"}), "SerializationException"),
        (cbor2.dumps({"Limit": 0}), "ValidationException"),
        (b"\xa1\x65Limit\xc1\x61x", "SerializationException"),
    ],
)
def test_a_wrong_cbor_body_gets_the_services_error(server: Server, body: bytes, code: str) -> None:
    headers = {"X-Amz-Target": TARGET + "ListStreams", "Content-Type": CBOR}
    status, named, answer = send(server, body, headers)
    assert (status, named["content-type"]) == (400, CBOR)
    assert cbor2.loads(answer)["__type"] == code


def frames(raw: http.client.HTTPResponse, count: int) -> list[tuple[dict[str, str], bytes]]:
    """So many event-stream frames, their checksums checked."""
    found = []
    for _ in range(count):
        prelude = raw.read(12)
        total, headers_bytes = (
            int.from_bytes(prelude[:4], "big"),
            int.from_bytes(prelude[4:8], "big"),
        )
        rest = raw.read(total - 12)
        assert int.from_bytes(prelude[8:], "big") == zlib.crc32(prelude[:8])
        assert int.from_bytes(rest[-4:], "big") == zlib.crc32(prelude + rest[:-4])
        found.append((_frame_headers(rest[:headers_bytes]), rest[headers_bytes:-4]))
    return found


def _frame_headers(raw: bytes) -> dict[str, str]:
    named: dict[str, str] = {}
    while raw:
        name, raw = raw[1 : 1 + raw[0]].decode(), raw[1 + raw[0] :]
        size = int.from_bytes(raw[1:3], "big")
        named[name], raw = raw[3 : 3 + size].decode(), raw[3 + size :]
    return named


@pytest.mark.parametrize("kind", [JSON, CBOR])
def test_a_subscription_is_a_stream_of_frames(server: Server, kind: str) -> None:
    """``initial-response`` first, then one frame in one HTTP chunk for each event."""
    call(server, "CreateStream", {"StreamName": "s", "ShardCount": 1}, kind)
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
    made = call(server, "RegisterStreamConsumer", {"StreamARN": arn, "ConsumerName": "c"}, kind)
    data: Any = b"hi" if kind == CBOR else "aGk="
    call(server, "PutRecord", {"StreamName": "s", "Data": data, "PartitionKey": "k"}, kind)
    request = {
        "ConsumerARN": made[1]["Consumer"]["ConsumerARN"],
        "ShardId": "shardId-000000000000",
        "StartingPosition": {"Type": "TRIM_HORIZON"},
    }
    body = json.dumps(request).encode() if kind == JSON else cbor2.dumps(request)
    headers = {"X-Amz-Target": TARGET + "SubscribeToShard", "Content-Type": kind}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "application/vnd.amazon.eventstream"
        first, second = frames(answer, 2)
        answer.close()
    assert first[0] == {
        ":message-type": "event",
        ":event-type": "initial-response",
        ":content-type": kind,
    }
    assert second[0][":event-type"] == "SubscribeToShardEvent"
    event = json.loads(second[1]) if kind == JSON else cbor2.loads(second[1], **RAW_TIME)
    assert event["Records"][0]["Data"] == data
    assert event["MillisBehindLatest"] == 0


# --- TLS --------------------------------------------------------------------------------------


def test_boto3_trusts_the_generated_certificate(threads: LoopThread, tmp_path: Path) -> None:
    certificate, key = self_signed(dt.datetime.now(dt.UTC))
    bundle = tmp_path / "certificate.pem"
    bundle.write_bytes(certificate)
    server = Server(threads, server_context(certificate, key))
    client = boto3.client(
        "kinesis",
        endpoint_url=f"https://127.0.0.1:{server.port}",
        verify=str(bundle),
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}),
    )
    try:
        client.create_stream(StreamName="orders", ShardCount=1)
        assert client.list_streams()["StreamNames"] == ["orders"]
    finally:
        client.close()
        server.stop()


def test_tls_offers_http2_first(threads: LoopThread) -> None:
    certificate, key = self_signed(dt.datetime.now(dt.UTC))
    server = Server(threads, server_context(certificate, key))
    context = ssl.create_default_context(cadata=certificate.decode())
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as raw,
        ):
            assert raw.selected_alpn_protocol() == "h2"
            headers, _ = h2_request(raw, "ListStreams", b"{}")
            assert headers[":status"] == "200"
    finally:
        server.stop()


# --- the admin route, and the server itself -----------------------------------------------------


def test_faults_are_set_seen_and_cleared_while_it_runs(server: Server) -> None:
    path = "/_shardlane/faults"
    plan = {"seed": 1, "fault": [{"kind": "internal-error", "operation": "ListStreams"}]}
    assert send(server, json.dumps(plan).encode(), {}, "PUT", path)[0] == 200
    assert call(server, "ListStreams", {})[0] == 500
    shown = json.loads(send(server, b"", {}, "GET", path)[2])
    assert shown["fault"][0]["fired"] == 1
    send(server, b"", {}, "DELETE", path)
    assert call(server, "ListStreams", {})[0] == 200


def test_a_wrong_fault_plan_is_refused_and_the_old_one_stays(server: Server) -> None:
    path = "/_shardlane/faults"
    for body in (b"{", b'{"fault": [{"kind": "boom"}]}'):
        status, _, answer = send(server, body, {}, "PUT", path)
        assert status == 400
        assert json.loads(answer)["message"]
    assert call(server, "ListStreams", {})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/_shardlane/fault", 404), ("POST", "/_shardlane/faults", 405)],
)
def test_what_the_admin_route_does_not_have(
    server: Server, method: str, path: str, status: int
) -> None:
    got, _, answer = send(server, b"", {}, method, path)
    assert got == status
    assert "_shardlane/faults" in answer.decode() or "PUT replaces" in answer.decode()


def late_by(server: Server, delay_ms: float) -> None:
    """The next ListStreams, and that one only."""
    rule = {"kind": "latency", "operation": "ListStreams", "ms": delay_ms, "times": 1}
    send(server, json.dumps({"fault": [rule]}).encode(), {}, "PUT", "/_shardlane/faults")


def test_a_late_answer_comes_late(server: Server) -> None:
    late_by(server, 150)
    started_s = time.monotonic()
    assert call(server, "ListStreams", {})[0] == 200
    assert time.monotonic() - started_s >= 0.15


def test_a_late_answer_holds_up_no_other(server: Server) -> None:
    late_by(server, 3_600_000)
    request = (
        f"POST / HTTP/1.1\r\nhost: x\r\nx-amz-target: {TARGET}ListStreams\r\n"
        f"content-length: 2\r\n\r\n{{}}"
    ).encode()
    give_up_s = time.monotonic() + 10
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(request)
        while b'"fired": 1' not in send(server, b"", {}, "GET", "/_shardlane/faults")[2]:
            assert time.monotonic() < give_up_s
        assert call(server, "ListStreams", {})[0] == 200
        raw.setblocking(False)
        with pytest.raises(BlockingIOError):
            raw.recv(1000)


def test_a_busy_port_is_named(threads: LoopThread, server: Server) -> None:
    other = KinesisServer(Kinesis(), lambda: EPOCH_MS)
    with pytest.raises(OSError, match=f"Port {server.port} of 127.0.0.1 is in use"):
        threads.run(other.start(server.port))


def test_it_listens_on_one_address_only(server: Server) -> None:
    """Not even on the other loopback addresses."""
    with pytest.raises(OSError, match=r"refused|assign|unreachable"):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


def test_stopping_ends_open_connections(threads: LoopThread) -> None:
    server = Server(threads)
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(b"POST / HTTP/1.1\r\n")
        server.stop()
        try:
            rest = raw.recv(1000)
        except ConnectionError:
            rest = b""
        assert rest == b""
