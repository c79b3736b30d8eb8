"""What every reader does with a record that reached it: one sample, after the handler's time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from shardlane import BadRecord, Record
from shardlane.latency import load_payload_of
from shardlane_lab.collector import Collector
from shardlane_lab.sample import sample_values
from shardlane_lab.virtual_time import wall_ms


def record_of(answered: Mapping[str, Any], shard_id: str) -> Record:
    """From an answer of GetRecords or an event of a subscription; times in seconds."""
    return Record(
        stream="",  # which stream it is the run knows
        shard_id=shard_id,
        sequence_number=answered["SequenceNumber"],
        partition_key=answered["PartitionKey"],
        data=answered["Data"],
        arrival_ms=round(answered["ApproximateArrivalTimestamp"] * 1000),
    )


async def handle(record: Record, collector: Collector, *, label: str, batch: int) -> None:
    """Received now, done when the time has passed that the record asks for. Raises ``BadRecord``
    for one that cannot be read."""
    recv_ms = wall_ms()
    load = load_payload_of(record)
    values = sample_values(record, load, label=label, recv_ms=recv_ms, batch=batch)
    if load.handle_ms:
        await asyncio.sleep(load.handle_ms / 1000)
        values["done_ms"] = wall_ms()
    collector.sample(values)


async def handle_in_turn(records: list[Record], collector: Collector, label: str) -> None:
    """As a bare loop does: one after the other, and one that cannot be read is stepped over."""
    for record in records:
        try:
            await handle(record, collector, label=label, batch=len(records))
        except BadRecord:
            collector.event({"event": "unreadable", "label": label})
