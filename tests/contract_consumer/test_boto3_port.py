"""The port onto boto3: what it returns, what it raises, and that nothing blocked can hold it up."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import boto3
import pytest

from shardlane.consumer.boto3_kinesis import Boto3Kinesis
from shardlane.consumer.errors import ConsumerError, KinesisRefused, KinesisUnreachable
from shardlane_lab.local_kinesis.faults import Fault, FaultKind, FaultPlan
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.model import Kinesis

T = TypeVar("T")

OPTIONS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "local",
    "aws_secret_access_key": "local",
}
PATIENCE_S = 20.0


class Service:
    """A stream of one shard with a registered consumer, over HTTP."""

    def __init__(self, model: Kinesis, url: str) -> None:
        self.model = model
        self.url = url
        self.port = Boto3Kinesis(endpoint_url=url, **OPTIONS)
        self._arn = ""

    def now(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.model.call(operation, request, time.time() * 1000)

    async def consumer_arn(self) -> str:
        if self._arn:
            return self._arn
        arn = self.now("DescribeStreamSummary", StreamName="s")
        stream = arn["StreamDescriptionSummary"]["StreamARN"]
        named = {"StreamARN": stream, "ConsumerName": "app"}
        self.now("RegisterStreamConsumer", **named)

        def described() -> dict[str, Any]:
            found: dict[str, Any] = self.now("DescribeStreamConsumer", **named)
            return dict(found["ConsumerDescription"])

        await until(lambda: described()["ConsumerStatus"] == "ACTIVE")
        self._arn = str(described()["ConsumerARN"])
        return self._arn

    async def subscribe(self) -> Any:
        return await self.port.subscribe(
            {
                "ConsumerARN": await self.consumer_arn(),
                "ShardId": "shardId-000000000000",
                "StartingPosition": {"Type": "TRIM_HORIZON"},
            }
        )

    async def iterator(self) -> str:
        opened = await self.port.call(
            "GetShardIterator",
            {
                "StreamName": "s",
                "ShardId": "shardId-000000000000",
                "ShardIteratorType": "TRIM_HORIZON",
            },
        )
        return str(opened["ShardIterator"])


def served(scene: Callable[[Service], Coroutine[Any, Any, T]], *faults: Fault) -> T:
    async def main() -> T:
        async with _service(faults) as service, asyncio.timeout(PATIENCE_S):
            return await scene(service)

    return asyncio.run(main())


@asynccontextmanager
async def _service(faults: tuple[Fault, ...]) -> AsyncIterator[Service]:
    model = Kinesis(faults=FaultPlan(faults) if faults else None)
    server = KinesisServer(model, lambda: time.time() * 1000)
    service = Service(model, f"http://127.0.0.1:{await server.start()}")
    service.now("CreateStream", StreamName="s", ShardCount=1)
    await until(lambda: bool(service.now("ListShards", StreamName="s")["Shards"]))
    await asyncio.sleep(0.05)
    try:
        yield service
    finally:
        await service.port.close()
        await server.stop()


def subscription_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "shardlane-subscription"]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - threads tell no one that they end
        await asyncio.sleep(0.01)


async def to_the_end(source: Any) -> None:
    while await source.next_event() is not None:
        pass


# --- calls --------------------------------------------------------------------------------------


def test_its_own_reading_of_an_answer_is_what_botocore_reads() -> None:
    async def scene(service: Service) -> tuple[Any, Any]:
        for data, key in ((b"", "a"), (b"\x00\xff", "schlüssel 🔑"), (b"x" * 1000, "c")):
            service.now("PutRecord", StreamName="s", Data=data, PartitionKey=key)
        iterator = await service.iterator()
        ours = await service.port.call("GetRecords", {"ShardIterator": iterator})
        plain = boto3.client("kinesis", endpoint_url=service.url, **OPTIONS)
        theirs = await asyncio.to_thread(plain.get_records, ShardIterator=iterator)
        plain.close()
        return ours, theirs

    ours, theirs = served(scene)
    assert len(ours["Records"]) == 3
    for mine, other in zip(ours["Records"], theirs["Records"], strict=True):
        moment = other.pop("ApproximateArrivalTimestamp")
        assert mine.pop("ApproximateArrivalTimestamp") == pytest.approx(moment.timestamp())
        assert mine == other
    assert ours["MillisBehindLatest"] == theirs["MillisBehindLatest"]
    assert ours["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_refusal_says_its_code_and_what_was_asked() -> None:
    async def scene(service: Service) -> None:
        with pytest.raises(KinesisRefused, match=r"^ListShards: ") as refused:
            await service.port.call("ListShards", {"StreamName": "nowhere"})
        assert refused.value.code == "ResourceNotFoundException"
        assert refused.value.operation == "ListShards"

    served(scene)


def test_a_lost_answer_is_no_answer_and_is_not_repeated() -> None:
    async def scene(service: Service) -> None:
        with pytest.raises(KinesisUnreachable, match="PutRecords"):
            await service.port.call(
                "PutRecords",
                {"StreamName": "s", "Records": [{"Data": b"1", "PartitionKey": "k"}]},
            )
        iterator = await service.iterator()
        read = await service.port.call("GetRecords", {"ShardIterator": iterator})
        assert [each["Data"] for each in read["Records"]] == [b"1"]

    served(scene, Fault(kind=FaultKind.LOST_ANSWER, operation="PutRecords"))


def alone(scene: Callable[[Boto3Kinesis], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        port = Boto3Kinesis(**options)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scene(port)
        finally:
            await port.close()

    asyncio.run(main())


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]

    async def scene(port: Boto3Kinesis) -> None:
        with pytest.raises(KinesisUnreachable, match="ListShards: EndpointConnectionError"):
            await port.call("ListShards", {"StreamName": "s"})

    alone(scene, endpoint_url=f"http://127.0.0.1:{free}", **OPTIONS)


def test_a_request_that_makes_no_sense_never_goes_out() -> None:
    async def scene(port: Boto3Kinesis) -> None:
        with pytest.raises(ConsumerError, match="ListShards: Parameter validation failed"):
            await port.call("ListShards", {"StreamNam": "s"})

    alone(scene, **OPTIONS)


def test_without_a_region_or_with_a_profile_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    async def scene(port: Boto3Kinesis) -> None:
        with pytest.raises(ConsumerError, match=r"cannot make a Kinesis client: .*(region|nobody)"):
            await port.call("ListShards", {"StreamName": "s"})

    alone(scene)
    alone(scene, profile="nobody")


def test_the_service_tells_its_time_with_its_answers(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(service: Service) -> float:
        await service.port.call("ListShards", {"StreamName": "s"})
        return service.port.service_ms() - time.time() * 1000

    assert -1_500 <= served(scene) <= 500
    assert not caplog.records  # an answer without a Date is warned of


# --- subscriptions ------------------------------------------------------------------------------


def test_events_come_as_boto3_has_them_with_plain_times() -> None:
    async def scene(service: Service) -> Any:
        service.now("PutRecord", StreamName="s", Data=b"1", PartitionKey="k")
        source = await service.subscribe()
        event = await source.next_event()
        await source.close()
        await until(lambda: not subscription_threads())
        return event

    event = served(scene)
    (record,) = event["Records"]
    assert (record["Data"], record["PartitionKey"]) == (b"1", "k")
    assert isinstance(record["ApproximateArrivalTimestamp"], float)
    assert event["ContinuationSequenceNumber"]


def test_a_read_that_is_blocked_ends_when_it_is_closed() -> None:
    async def scene(service: Service) -> float:
        source = await service.subscribe()
        await source.next_event()
        reading = asyncio.create_task(source.next_event())
        await asyncio.sleep(0.3)  # it is in the socket by then
        assert not reading.done()
        began_s = time.monotonic()
        reading.cancel()
        await source.close()
        await until(lambda: not subscription_threads())
        return time.monotonic() - began_s

    silence = Fault(kind=FaultKind.SILENCE, after=1)
    assert served(scene, silence) < 2


def test_closing_again_and_closing_what_has_ended_is_no_matter() -> None:
    async def scene(service: Service) -> None:
        source = await service.subscribe()
        await to_the_end(source)
        await source.close()
        await source.close()
        await until(lambda: not subscription_threads())

    served(scene, Fault(kind=FaultKind.TRUNCATED_FRAME, after=1))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(kind=FaultKind.CUT_BETWEEN_FRAMES), "ProtocolError|ConnectionReset"),
        (Fault(kind=FaultKind.CUT_INSIDE_FRAME), "ProtocolError|ConnectionReset"),
        (Fault(kind=FaultKind.CORRUPT_CRC), "ChecksumMismatch"),
    ],
    ids=["cut", "cut inside", "corrupt"],
)
def test_a_broken_stream_is_unreachable(fault: Fault, error: str) -> None:
    async def scene(service: Service) -> None:
        source = await service.subscribe()
        with pytest.raises(KinesisUnreachable, match=error):
            await to_the_end(source)
        await source.close()
        await until(lambda: not subscription_threads())

    served(scene, fault)


def test_an_exception_event_is_a_refusal_with_its_code() -> None:
    async def scene(service: Service) -> None:
        source = await service.subscribe()
        with pytest.raises(KinesisRefused) as refused:
            await to_the_end(source)
        assert refused.value.code == "KMSThrottlingException"
        await source.close()

    served(scene, Fault(kind=FaultKind.EXCEPTION_FRAME, code="KMSThrottlingException"))


# botocore drops the connection of an answer that it cannot read, and leaves it to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_as_the_first_event_is_a_refusal_or_a_broken_answer() -> None:
    """boto3 does not say which: it expects another first event."""

    async def scene(service: Service) -> None:
        with pytest.raises((KinesisRefused, KinesisUnreachable)):
            await to_the_end(await service.subscribe())
        await until(lambda: not subscription_threads())

    served(scene, Fault(kind=FaultKind.EXCEPTION_FIRST))
    gc.collect()


def test_a_refused_subscription_leaves_no_thread() -> None:
    async def scene(service: Service) -> None:
        first = await service.subscribe()
        with pytest.raises(KinesisRefused) as refused:
            await service.subscribe()
        assert refused.value.code == "ResourceInUseException"
        await first.close()
        await until(lambda: not subscription_threads())

    served(scene)
