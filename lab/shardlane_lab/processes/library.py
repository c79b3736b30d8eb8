"""The library's long-running consumer in a process of its own: by polling, or by enhanced fan-out
if it is given a registered consumer. Leases are in memory: it reads every shard."""

from __future__ import annotations

import asyncio
from typing import Any

from shardlane import BadRecord, Drop, Record
from shardlane.consumer import (
    Boto3Kinesis,
    ConsumerError,
    Position,
    Source,
    Subscription,
    by_key,
    workers,
)
from shardlane.latency import load_payload_of
from shardlane_lab.processes.child import emit, end_with_parent, now_ms, settings
from shardlane_lab.processes.gauges import emit_gauges
from shardlane_lab.sample import sample_values

LOOK_EVERY_S = 0.05


def source_of(given: dict[str, Any]) -> Source:
    if "consumer" in given:
        return Source.fan_out(given["consumer"])
    return Source.polling(given["interval_ms"] / 1000)


async def consume(given: dict[str, Any]) -> None:
    """For ever."""
    label = given["label"]
    kinesis = Boto3Kinesis()
    subscription = Subscription(
        given["stream"],
        source=source_of(given),
        start=Position.timestamp(int(now_ms())),
        kinesis=kinesis,
    )

    async def handle(record: Record) -> None:
        recv_ms = now_ms()
        try:
            load = load_payload_of(record)
        except BadRecord as error:
            emit("unreadable", sequence_number=record.sequence_number, reason=str(error))
            raise Drop(str(error)) from error
        values = sample_values(record, load, label=label, recv_ms=recv_ms, batch=1)
        if load.handle_ms:
            await asyncio.sleep(load.handle_ms / 1000)
            values["done_ms"] = now_ms()
        emit("sample", **values)

    running = asyncio.create_task(subscription.run(handle, workers(given["workers"], by_key)))
    await _until_it_holds_shards(subscription, running)
    emit("ready")
    telling = asyncio.create_task(emit_gauges(subscription.stats, label))
    await asyncio.wait((running, telling), return_when=asyncio.FIRST_COMPLETED)
    for each in (running, telling):
        if each.done():
            each.result()  # raises what it ended of


async def _until_it_holds_shards(subscription: Subscription, running: asyncio.Task[Any]) -> None:
    """It starts at the time at which this process began, so nothing sent from now on is missed."""
    while True:
        if running.done():
            running.result()
        try:
            if subscription.stats().shards:
                return
        except ConsumerError:  # it has not begun
            pass
        await asyncio.sleep(LOOK_EVERY_S)


def main() -> None:
    given = settings()
    end_with_parent()
    asyncio.run(consume(given))


if __name__ == "__main__":
    main()
