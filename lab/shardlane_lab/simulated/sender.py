"""The producer in virtual time: each record at its time, a put after the other in each sender."""

from __future__ import annotations

import asyncio

from shardlane.load import LoadPlan, Planned
from shardlane_lab.collector import Collector
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.simulated.sdk import SdkClient
from shardlane_lab.virtual_time import wall_ms


async def send(
    plan: LoadPlan, client: SdkClient, stream: str, collector: Collector, start_ms: float
) -> None:
    lanes: list[list[Planned]] = [[] for _ in range(plan.senders)]
    for record in plan.planned():
        lanes[plan.sender_of(record.key)].append(record)
    async with asyncio.TaskGroup() as group:
        for lane in lanes:
            group.create_task(_send_lane(lane, plan, client, stream, collector, start_ms))


async def _send_lane(
    lane: list[Planned],
    plan: LoadPlan,
    client: SdkClient,
    stream: str,
    collector: Collector,
    start_ms: float,
) -> None:
    for record in lane:
        scheduled_ms = start_ms + record.at_ms
        await asyncio.sleep(max(0.0, scheduled_ms - wall_ms()) / 1000)
        for again in ("resend", "not-sent"):
            sent_ms = wall_ms()
            data = plan.payload(record, sent_ms, scheduled_ms)
            request = {"StreamName": stream, "Data": data, "PartitionKey": record.key}
            try:
                await client.call("PutRecord", request)
            except (ServiceError, ConnectionError) as error:
                collector.event({"event": again, "seq": record.seq, "reason": str(error)})
            else:
                _tell(record, sent_ms, collector)
                break


def _tell(record: Planned, sent_ms: float, collector: Collector) -> None:
    if record.seq is None:
        collector.event({"event": "poisoned", "key": record.key})
    else:
        put_ms = wall_ms() - sent_ms
        collector.event({"event": "sent", "seq": record.seq, "sent_ms": sent_ms, "put_ms": put_ms})
