"""What both boto3 consumers do with the records they got: one sample a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardlane.latency import parse_load

from shardlane_lab.processes.child import emit


def emit_samples(
    records: Sequence[Mapping[str, Any]], *, label: str, shard_id: str, recv_ms: float
) -> None:
    """Writes one ``sample`` event a record; ``recv_ms`` is when the call or event returned. A
    record that is none of ours is an ``unreadable`` event, not the end of the consumer."""
    for record in records:
        try:
            load = parse_load(record["Data"])
        except ValueError as error:
            emit("unreadable", sequence_number=record["SequenceNumber"], reason=str(error))
            continue
        emit(
            "sample",
            label=label,
            seq=load.seq,
            sent_ms=load.sent_ms,
            scheduled_ms=load.scheduled_ms,
            arrival_ms=round(record["ApproximateArrivalTimestamp"].timestamp() * 1000),
            recv_ms=recv_ms,
            batch=len(records),
            key=record["PartitionKey"],
            shard_id=shard_id,
            sequence_number=record["SequenceNumber"],
        )


def shard_ids(client: Any, stream: str) -> list[str]:
    """All shards of the stream. ``NextToken`` must come alone, so no paginator (ListShards)."""
    page = client.list_shards(StreamName=stream)
    found = list(page["Shards"])
    while token := page.get("NextToken"):
        page = client.list_shards(NextToken=token)
        found += page["Shards"]
    return [shard["ShardId"] for shard in found]
