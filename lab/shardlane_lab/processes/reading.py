"""What both boto3 consumers do with the records they got: one sample a record."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from shardlane import BadRecord, Record
from shardlane.latency import load_payload_of
from shardlane_lab.processes.child import emit, now_ms
from shardlane_lab.sample import sample_values


def emit_samples(
    records: Sequence[Mapping[str, Any]], *, label: str, shard_id: str, recv_ms: float
) -> None:
    """Writes one ``sample`` event a record; ``recv_ms`` is when the call or event returned. A
    record that is none of ours is an ``unreadable`` event, not the end of the consumer.

    A record whose handling is to take time holds up those behind it, as in any loop: they are
    received when their turn comes.
    """
    for answered in records:
        record = Record(
            stream="",  # which stream it is the run knows
            shard_id=shard_id,
            sequence_number=answered["SequenceNumber"],
            partition_key=answered["PartitionKey"],
            data=answered["Data"],
            arrival_ms=round(answered["ApproximateArrivalTimestamp"].timestamp() * 1000),
        )
        done_ms = _handle(record, label=label, recv_ms=recv_ms, batch=len(records))
        recv_ms = max(recv_ms, done_ms)


def _handle(record: Record, *, label: str, recv_ms: float, batch: int) -> float:
    """When the record was done with."""
    try:
        load = load_payload_of(record)
    except BadRecord as error:
        emit("unreadable", sequence_number=record.sequence_number, reason=str(error))
        return recv_ms
    values = sample_values(record, load, label=label, recv_ms=recv_ms, batch=batch)
    done_ms = recv_ms
    if load.handle_ms:
        time.sleep(load.handle_ms / 1000)
        done_ms = values["done_ms"] = now_ms()
    emit("sample", **values)
    return done_ms


def shard_ids(client: Any, stream: str) -> list[str]:
    """All shards of the stream. ``NextToken`` must come alone, so no paginator (ListShards)."""
    page = client.list_shards(StreamName=stream)
    found = list(page["Shards"])
    while token := page.get("NextToken"):
        page = client.list_shards(NextToken=token)
        found += page["Shards"]
    return [shard["ShardId"] for shard in found]
