"""GetRecords without boto3 beside boto3's own: the same request, the same answers and errors."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import boto3
import botocore.auth
import botocore.httpsession
import pytest
from botocore.credentials import DeferredRefreshableCredentials

from shardlane.consumer.boto3_kinesis import Boto3Kinesis
from shardlane.consumer.errors import ConsumerError, KinesisRefused, KinesisUnreachable
from shardlane.consumer.kinesis_client import Clients, make_clients
from shardlane_lab.local_kinesis.certificate import self_signed, server_context
from shardlane_lab.local_kinesis.faults import Fault, FaultKind, FaultPlan
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis
from tests.contract_consumer.http_peer import Peer, answer, serving

KEYS: dict[str, Any] = {"aws_access_key_id": "AKLOCAL", "aws_secret_access_key": "s/ecr+et="}
REGION: dict[str, Any] = {"region_name": "eu-central-1"}
OPTIONS = {**REGION, **KEYS}
SHARD = "shardId-000000000000"


def clients(**options: Any) -> Clients:
    return make_clients({**OPTIONS, **options})


class Stream:
    """A stream of one shard over HTTP, or over HTTPS."""

    def __init__(self, model: Kinesis, certificate: bytes) -> None:
        self.model = model
        self.url = ""
        self.certificate = certificate
        self._now_ms = 1_800_000_000_000.0

    def now(self, operation: str, **request: Any) -> dict[str, Any]:
        self._now_ms += 100
        return self.model.call(operation, request, self._now_ms)

    def put(self, data: bytes) -> None:
        self.now("PutRecord", StreamName="s", Data=data, PartitionKey="k")

    def iterator(self) -> str:
        opened = self.now(
            "GetShardIterator", StreamName="s", ShardId=SHARD, ShardIteratorType="TRIM_HORIZON"
        )
        return str(opened["ShardIterator"])

    def clock_ms(self) -> float:
        self._now_ms += 250  # five reads a second are allowed
        return self._now_ms


@asynccontextmanager
async def stream(*faults: Fault, tls: bool = False) -> AsyncIterator[Stream]:
    certificate, key = self_signed(dt.datetime.now(dt.UTC))
    made = Stream(Kinesis(faults=FaultPlan(faults) if faults else None), certificate)
    server = KinesisServer(
        made.model, made.clock_ms, tls=server_context(certificate, key) if tls else None
    )
    made.url = f"http{'s' if tls else ''}://localhost:{await server.start()}"
    made.now("CreateStream", StreamName="s", ShardCount=1)
    while not made.now("ListShards", StreamName="s")["Shards"]:
        pass
    try:
        yield made
    finally:
        await server.stop()


@asynccontextmanager
async def port(url: str, **options: Any) -> AsyncIterator[Boto3Kinesis]:
    made = Boto3Kinesis(endpoint_url=url, **{**OPTIONS, **options})
    try:
        async with asyncio.timeout(20):
            yield made
    finally:
        await made.close()
        await asyncio.sleep(0)


async def reads_directly(kinesis: Boto3Kinesis) -> bool:
    return (await kinesis._made()).reads is not None


# --- the request --------------------------------------------------------------------------------


class Recorded(Exception):
    """Stops a request before it leaves."""


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"aws_session_token": "t/oken+=="},
        {"endpoint_url": "http://localhost:4567"},
        {"endpoint_url": "http://[::1]:4567"},
        {"endpoint_url": "https://vpce-1.kinesis.eu-central-1.vpce.amazonaws.com"},
        {"endpoint_url": "https://vpce-1.kinesis.eu-central-1.vpce.amazonaws.com:443"},
        {"use_ssl": False},
        {"region_name": "cn-north-1"},
    ],
    ids=lambda options: ",".join(map(str, options.values())) or "plain",
)
def test_it_sends_what_boto3_would(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte what is signed, and so its signature."""
    moment = dt.datetime(2026, 3, 4, 5, 6, 7)  # noqa: DTZ001 - as botocore has it
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment)
    made = clients(**options)
    sent: list[Any] = []

    def record(request: Any, **_: Any) -> None:
        sent.append(request)
        raise Recorded

    made.calls.meta.events.register("before-send.kinesis.GetRecords", record)
    asked = {"ShardIterator": "AAA/b+c==", "Limit": 10_000}
    with pytest.raises(Recorded):
        made.calls.get_records(**asked)
    assert made.reads is not None
    with pytest.raises(Recorded):
        asyncio.run(made.reads.call("GetRecords", asked))
    made.close()
    theirs, ours = (_without_trace(each) for each in sent)
    host = ours["headers"].pop("Host")
    assert ours == theirs
    assert host in theirs["url"] or f"{host}:443" in theirs["url"]
    assert "Authorization" in ours["headers"]


def _without_trace(request: Any) -> dict[str, Any]:
    headers = {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in request.headers.items()
        # Of the attempt, not of the request; none of it is signed.
        if name not in ("amz-sdk-invocation-id", "amz-sdk-request", "User-Agent")
    }
    return {
        "method": request.method,
        "url": request.url,
        "headers": headers,
        "body": request.body,
    }


def test_a_token_with_a_line_break_is_refused_and_does_not_become_a_header() -> None:
    async def main() -> None:
        async with (
            stream() as served,
            port(served.url, aws_session_token="token\r\nX-Other: 1") as kinesis,
        ):
            with pytest.raises(KinesisUnreachable, match="line break"):
                await kinesis.call("GetRecords", {"ShardIterator": served.iterator()})

    asyncio.run(main())


# --- answers and errors -------------------------------------------------------------------------


async def _outcome(kinesis: Boto3Kinesis, request: Mapping[str, Any]) -> Any:
    """What the port returns or raises, but for what differs from call to call."""
    try:
        answer = dict(await kinesis.call("GetRecords", request))
    except ConsumerError as error:
        return type(error), getattr(error, "code", ""), str(error)
    for each in ("NextShardIterator", "ResponseMetadata", "MillisBehindLatest"):
        answer.pop(each)
    return answer


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault(kind=FaultKind.INTERNAL_ERROR, operation="GetRecords"),
        Fault(kind=FaultKind.THROTTLE, operation="GetRecords"),
    ],
    ids=lambda fault: str(fault.kind) if fault else "none",
)
def test_it_answers_as_boto3_does(fault: Fault | None) -> None:
    async def main() -> None:
        async with (
            stream(*([fault] if fault else [])) as served,
            port(served.url) as ours,
            port(served.url, direct=False) as theirs,
        ):
            assert await reads_directly(ours)
            assert not await reads_directly(theirs)
            for data in (b"", b"\x00\xff", b"x" * 200_000):
                served.put(data)
            request = {"ShardIterator": served.iterator(), "Limit": 10}
            outcome = await _outcome(ours, request)
            assert outcome == await _outcome(theirs, request)
            if fault is None:
                assert [len(each["Data"]) for each in outcome["Records"]] == [0, 2, 200_000]
            wrong = {"ShardIterator": "nonsense"}
            refused = await _outcome(ours, wrong)
            assert refused == await _outcome(theirs, wrong)
            assert refused[0] is KinesisRefused

    asyncio.run(main())


@pytest.mark.parametrize("direct", [True, False], ids=["directly", "boto3"])
@pytest.mark.parametrize(
    "body",
    [b"<html>Sign in</html>", b"[]", b"{}", b'{"Records": [{}]}', b'{"Records": 1}', b"\xff"],
)
def test_an_answer_of_somebody_between_is_no_answer(body: bytes, direct: bool) -> None:
    async def portal(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(body))
        await peer.closed()

    async def main() -> None:
        async with (
            serving(portal) as number,
            port(f"http://127.0.0.1:{number}", direct=direct) as (kinesis),
        ):
            assert await reads_directly(kinesis) == direct
            with pytest.raises(KinesisUnreachable, match="GetRecords: "):
                await kinesis.call("GetRecords", {"ShardIterator": "any"})

    asyncio.run(main())


def test_a_lost_answer_is_no_answer_and_is_not_asked_for_again() -> None:
    async def main() -> None:
        lost = Fault(kind=FaultKind.LOST_ANSWER, operation="GetRecords", times=1)
        async with stream(lost) as served, port(served.url) as kinesis:
            assert await reads_directly(kinesis)
            request = {"ShardIterator": served.iterator()}
            with pytest.raises(KinesisUnreachable, match="GetRecords: ConnectionError"):
                await kinesis.call("GetRecords", request)
            assert (await kinesis.call("GetRecords", request))["Records"] == []

    asyncio.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        async with stream() as served:
            url = served.url
        async with port(url) as kinesis:
            assert await reads_directly(kinesis)
            with pytest.raises(KinesisUnreachable, match="GetRecords: ConnectionRefusedError"):
                await kinesis.call("GetRecords", {"ShardIterator": "any"})

    asyncio.run(main())


def test_it_reads_from_moto_in_the_same_process() -> None:
    """conftest.py has it on for every test here."""

    async def main() -> list[bytes]:
        stand_in = boto3.client("kinesis", **OPTIONS)
        stand_in.create_stream(StreamName="mocked", ShardCount=1)
        stand_in.put_record(StreamName="mocked", Data=b"1", PartitionKey="k")
        kinesis = Boto3Kinesis(**OPTIONS)
        opened = await kinesis.call(
            "GetShardIterator",
            {"StreamName": "mocked", "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"},
        )
        assert await reads_directly(kinesis)
        answer = await kinesis.call("GetRecords", {"ShardIterator": opened["ShardIterator"]})
        await kinesis.close()
        stand_in.delete_stream(StreamName="mocked")
        stand_in.close()
        return [each["Data"] for each in answer["Records"]]

    assert asyncio.run(main()) == [b"1"]


# --- TLS ----------------------------------------------------------------------------------------


def test_over_tls_with_an_authority_of_ones_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with stream(tls=True) as served:
            trusted = tmp_path / "authority.pem"
            trusted.write_bytes(served.certificate)
            served.put(b"1")
            async with port(served.url, verify=str(trusted)) as kinesis:
                assert await reads_directly(kinesis)
                for _ in range(3):
                    answer = await kinesis.call("GetRecords", {"ShardIterator": served.iterator()})
                    assert [each["Data"] for each in answer["Records"]] == [b"1"]

    asyncio.run(main())


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_environment_names_the_authority(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with stream(tls=True) as served:
            trusted = tmp_path / "authority.pem"
            trusted.write_bytes(served.certificate)
            for each in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
                monkeypatch.delenv(each, raising=False)
            monkeypatch.setenv(variable, str(trusted))
            async with port(served.url) as kinesis:
                assert await reads_directly(kinesis)
                await kinesis.call("GetRecords", {"ShardIterator": served.iterator()})

    asyncio.run(main())


@pytest.mark.parametrize("wrong", ["authority", "name"])
def test_a_certificate_that_is_not_to_be_trusted(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _, port, **options: real("127.0.0.1", port, **options)
    )

    async def main() -> None:
        async with stream(tls=True) as served:
            trusted = tmp_path / "authority.pem"
            trusted.write_bytes(served.certificate)
            verify = {"verify": str(trusted)} if wrong == "name" else {}
            url = served.url.replace(
                "localhost", "kinesis.test" if wrong == "name" else "localhost"
            )
            async with port(url, **verify) as kinesis:
                assert await reads_directly(kinesis)
                with pytest.raises(KinesisUnreachable, match="GetRecords: SSLCertVerification"):
                    await kinesis.call("GetRecords", {"ShardIterator": "any"})

    asyncio.run(main())


# --- who signs, and who sends -------------------------------------------------------------------


def test_keys_that_run_out_are_fetched_in_a_thread_and_then_used() -> None:
    async def main() -> tuple[list[str], list[str]]:
        fetched: list[str] = []

        def fetch() -> dict[str, str]:
            fetched.append(threading.current_thread().name)
            until = dt.datetime.now(dt.UTC) + dt.timedelta(hours=6)
            return {
                "access_key": f"AK{len(fetched)}",
                "secret_key": "secret",
                "token": "token",
                "expiry_time": until.isoformat(),
            }

        async with stream() as served, port(served.url) as kinesis:
            reads = (await kinesis._made()).reads
            assert reads is not None
            reads._credentials = DeferredRefreshableCredentials(fetch, "a role")
            signed: list[str] = []

            def note(request: Any, **_: Any) -> None:
                signed.append(str(request.headers["Authorization"]).split("=")[1])

            reads._meta.events.register("before-send.kinesis.GetRecords", note)
            for _ in range(3):
                await kinesis.call("GetRecords", {"ShardIterator": served.iterator()})
        return fetched, [each.partition("/")[0] for each in signed]

    fetched, signed = asyncio.run(main())
    assert signed == ["AK1"] * 3
    assert len(fetched) == 1
    assert fetched[0].startswith("shardlane-calls")


def test_a_role_that_cannot_be_had_is_an_error_that_waiting_may_cure() -> None:
    async def main() -> None:
        def fetch() -> dict[str, str]:
            raise botocore.exceptions.CredentialRetrievalError(provider="role", error_msg="down")

        async with stream() as served, port(served.url) as kinesis:
            reads = (await kinesis._made()).reads
            assert reads is not None
            reads._credentials = DeferredRefreshableCredentials(fetch, "a role")
            with pytest.raises(KinesisUnreachable, match="down"):
                await kinesis.call("GetRecords", {"ShardIterator": served.iterator()})

    asyncio.run(main())


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        ({"HTTPS_PROXY": "http://proxy:3128"}, {}),
        ({"https_proxy": "http://proxy:3128"}, {}),
        ({"HTTP_PROXY": "http://proxy:3128"}, {"endpoint_url": "http://kinesis.local:4567"}),
        ({}, {"verify": False}),
        ({}, {"endpoint_url": "http://gateway.local/kinesis"}),
        ({"AWS_USE_FIPS_ENDPOINT": "true"}, {}),
        ({"AWS_USE_DUALSTACK_ENDPOINT": "true"}, {}),
        ({"AWS_ACCOUNT_ID_ENDPOINT_MODE": "required"}, {}),
        ({}, {"region_name": "local"}),
    ],
    ids=[
        "proxy",
        "proxy in lower case",
        "proxy for http",
        "unverified",
        "below a path",
        "FIPS",
        "dual-stack",
        "an account's endpoint",
        "another region's signature",
    ],
)
def test_what_only_boto3_can_send_it_sends(
    environment: dict[str, str], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = clients(**options)
    assert made.reads is None
    made.close()


def test_a_proxy_that_is_not_for_this_host_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", ".amazonaws.com")
    made = clients()
    assert made.reads is not None
    made.close()


def test_without_httptools_boto3_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httptools", None)
    made = clients()
    assert made.reads is None
    made.close()


def test_without_keys_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    async def main() -> None:
        kinesis = Boto3Kinesis(endpoint_url="http://localhost:1", **REGION)
        with pytest.raises(ConsumerError, match="GetRecords: Unable to locate credentials"):
            await kinesis.call("GetRecords", {"ShardIterator": "any"})
        await kinesis.close()

    asyncio.run(main())
