"""The in-process shell in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import run_virtual, wall_ms

SHARD = "shardId-000000000000"


async def stream_with_consumer(client: InProcessKinesis) -> str:
    """Creates ``orders`` with one shard and returns the ARN of an active consumer."""
    await client.call("CreateStream", {"StreamName": "orders", "ShardCount": 1})
    await asyncio.sleep(1)
    summary = await client.call("DescribeStreamSummary", {"StreamName": "orders"})
    arn = summary["StreamDescriptionSummary"]["StreamARN"]
    made = await client.call("RegisterStreamConsumer", {"StreamARN": arn, "ConsumerName": "efo"})
    await asyncio.sleep(1)
    return str(made["Consumer"]["ConsumerARN"])


def put(number: int) -> dict[str, Any]:
    return {"StreamName": "orders", "Data": b"%d" % number, "PartitionKey": "k"}


def subscribe_request(arn: str, kind: str = "LATEST") -> dict[str, Any]:
    return {"ConsumerARN": arn, "ShardId": SHARD, "StartingPosition": {"Type": kind}}


def test_put_takes_its_delay_before_the_arrival_and_does_not_hold_up_others() -> None:
    async def main() -> None:
        delays = Delays(put_base_ms=66, put_median_ms=5, put_sigma=1)
        client = InProcessKinesis(Kinesis(delays=delays), wall_ms)
        await client.call("CreateStream", {"StreamName": "orders", "ShardCount": 1})
        started_ms = wall_ms()
        await asyncio.gather(*(client.call("PutRecord", put(number)) for number in range(50)))
        assert 66 < wall_ms() - started_ms < 10 * 66  # side by side, not 50 delays in a row
        request = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = await client.call("GetShardIterator", request)
        records = (await client.call("GetRecords", iterator))["Records"]
        arrivals = [record["ApproximateArrivalTimestamp"] for record in records]
        assert len(records) == 50
        assert arrivals == sorted(arrivals)
        assert arrivals[0] * 1000 >= started_ms + 66 - 1  # whole milliseconds

    run_virtual(main())


def test_push_arrives_after_the_configured_delay_in_order() -> None:
    async def main() -> None:
        delays = Delays(push_base_ms=17.5, push_spread_ms=102)
        model = Kinesis(delays=delays)
        client = InProcessKinesis(model, wall_ms)
        arn = await stream_with_consumer(client)
        poller = InProcessKinesis(model, wall_ms, Caller.EVENT_SOURCE_MAPPING)
        events = poller.subscribe(subscribe_request(arn))

        async def produce() -> None:
            for number in range(100):
                await client.call("PutRecord", put(number))
                await asyncio.sleep(0.02)

        producer = asyncio.ensure_future(produce())
        received: list[int] = []
        async for event in events:
            for record in event["Records"]:
                age_ms = wall_ms() - record["ApproximateArrivalTimestamp"] * 1000
                assert 17 < age_ms < 17.5 + 102 + 2
                received.append(int(record["Data"]))
            if len(received) == 100:
                break
        assert received == list(range(100))
        await producer

    run_virtual(main())


def test_subscription_is_open_when_subscribe_returns_and_ends_after_five_minutes() -> None:
    async def main() -> None:
        client = InProcessKinesis(Kinesis(), wall_ms)
        arn = await stream_with_consumer(client)
        started_ms = wall_ms()
        events = client.subscribe(subscribe_request(arn))
        await client.call("PutRecord", put(1))  # before the first event was asked for
        seen = [event async for event in events]
        assert [record["Data"] for event in seen for record in event["Records"]] == [b"1"]
        assert wall_ms() - started_ms == pytest.approx(300_000, abs=1)
        idle = [event for event in seen if not event["Records"]]
        assert len(idle) >= 30  # under 10 s apart

    run_virtual(main())


def test_the_poller_of_a_mapping_is_counted_but_never_refused() -> None:
    async def main() -> None:
        model = Kinesis()
        client = InProcessKinesis(model, wall_ms)
        mapping = InProcessKinesis(model, wall_ms, Caller.EVENT_SOURCE_MAPPING)
        await client.call("CreateStream", {"StreamName": "orders", "ShardCount": 1})
        request = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "LATEST"}
        iterator = await client.call("GetShardIterator", request)
        for _ in range(7):
            await mapping.call("GetRecords", iterator)
        with pytest.raises(ServiceError, match="ProvisionedThroughputExceededException"):
            await client.call("GetRecords", iterator)
        await asyncio.sleep(0.5)  # two calls of debt: 2.5 calls later there is half a call
        with pytest.raises(ServiceError, match="ProvisionedThroughputExceededException"):
            await client.call("GetRecords", iterator)
        await asyncio.sleep(0.11)
        await client.call("GetRecords", iterator)

    run_virtual(main())


def test_polling_sees_a_record_after_its_visibility_delay() -> None:
    async def main() -> None:
        delays = Delays(visibility_base_ms=21, get_records_low_ms=4, get_records_high_ms=4)
        client = InProcessKinesis(Kinesis(delays=delays), wall_ms)
        await client.call("CreateStream", {"StreamName": "orders", "ShardCount": 1})
        request = {"StreamName": "orders", "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = await client.call("GetShardIterator", request)
        await client.call("PutRecord", put(1))
        started_ms = wall_ms()
        answer = await client.call("GetRecords", iterator)
        assert wall_ms() - started_ms == pytest.approx(4)
        assert answer["Records"] == []
        assert answer["MillisBehindLatest"] == 0
        await asyncio.sleep(0.018)
        iterator = {"ShardIterator": answer["NextShardIterator"]}
        assert len((await client.call("GetRecords", iterator))["Records"]) == 1

    run_virtual(main())
