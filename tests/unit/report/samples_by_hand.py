"""Samples and runs whose figures can be worked out in the head."""

from __future__ import annotations

from typing import Any

from shardlane_lab.run_record import ConsumerRecord, Run, RunRecord
from shardlane_lab.sample import Sample

START_MS = 1_780_000_000_000.0

POLLER = ConsumerRecord(label="boto3-get-records", kind="boto3-get-records", surfaced_throttles=3)
STANDARD = ConsumerRecord(label="lambda-standard", kind="lambda-standard", function="standard")
FAN_OUT = ConsumerRecord(
    label="lambda-efo", kind="lambda-efo", function="efo", efo_consumer="registered-efo"
)


def sample(seq: int, latency_ms: float = 100.0, **changes: Any) -> Sample:
    """Sent at one-second steps, 50 ms on its way, received ``latency_ms`` after it arrived."""
    sent_ms = START_MS + seq * 1000
    values: dict[str, Any] = {
        "label": POLLER.label,
        "seq": seq,
        "sent_ms": sent_ms,
        "arrival_ms": sent_ms + 50,
        "recv_ms": sent_ms + 50 + latency_ms,
        "batch": 1,
        "shard_id": "shardId-000000000000",
        "sequence_number": str(1000 + seq),
    }
    return Sample(**(values | changes))


def record(*consumers: ConsumerRecord, **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "name": "by-hand",
        "title": "",
        "target": "local",
        "stream": "order-events",
        "started_ms": START_MS,
        "seconds": 600.0,
        "rate_per_s": 1.0,
        "sent": 10,
        "first_put_ms": 12.0,
        "consumers": consumers or (POLLER,),
        "environment": {"delays": "measured"},
    }
    return RunRecord(**(values | changes))


def run(samples: list[Sample], *consumers: ConsumerRecord, **changes: Any) -> Run:
    return Run(record(*consumers, **changes), samples, [])
