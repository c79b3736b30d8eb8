"""A record as a mapping holds it between the shard and the function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ENVELOPE_BYTES = 564
"""Of one record in the event without its data: what the service reserves for it."""


@dataclass(frozen=True, slots=True)
class Record:
    """``index`` counts the records of one shard in the order they were read."""

    index: int
    sequence_number: str
    partition_key: str
    data: bytes
    arrival_ms: float
    """Epoch milliseconds, ``ApproximateArrivalTimestamp``."""

    @property
    def event_bytes(self) -> int:
        """What it takes up in the function's event: base64 and the envelope."""
        return ENVELOPE_BYTES + 4 * -(-len(self.data) // 3)


def record_from(values: Mapping[str, Any], index: int) -> Record:
    """From a record of ``GetRecords`` or ``SubscribeToShardEvent`` in boto3's shape, with the
    arrival in seconds."""
    return Record(
        index=index,
        sequence_number=values["SequenceNumber"],
        partition_key=values["PartitionKey"],
        data=values["Data"],
        arrival_ms=round(values["ApproximateArrivalTimestamp"] * 1000.0, 3),
    )
