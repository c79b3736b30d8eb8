"""A record as a shard holds it."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson


def payload_bytes(partition_key: str, data: bytes) -> int:
    """What limits and metrics count: data and partition key."""
    if partition_key.isascii():
        return len(data) + len(partition_key)
    return len(data) + len(partition_key.encode())


class StoredRecord:
    """Immutable but for the cached wire form. A plain class with slots: there are millions."""

    __slots__ = (
        "_json",
        "arrival_ms",
        "data",
        "end_bytes",
        "partition_key",
        "sequence_number",
        "size_bytes",
        "visible_ms",
        "written_ms",
    )

    def __init__(
        self,
        sequence_number: str,
        partition_key: str,
        data: bytes,
        size_bytes: int,
        arrival_ms: int,
        written_ms: float,
        visible_ms: float,
    ) -> None:
        self.sequence_number = sequence_number
        self.partition_key = partition_key
        self.data = data
        self.size_bytes = size_bytes
        """What limits and metrics count: see ``payload_bytes``."""
        self.arrival_ms = arrival_ms
        """The ``ApproximateArrivalTimestamp``: whole milliseconds, and with a skewed clock it may
        differ from ``written_ms`` and go backwards."""
        self.written_ms = written_ms
        self.visible_ms = visible_ms
        """From when on GetRecords sees it."""
        self.end_bytes = 0
        """Payload bytes of the shard up to and with this record (the shard says them), so that a
        read can be cut to size by searching instead of adding up."""
        self._json: bytes | None = None

    def as_dict(self) -> dict[str, Any]:
        """As boto3 shows it, but the time-stamp in seconds."""
        return {
            "SequenceNumber": self.sequence_number,
            "ApproximateArrivalTimestamp": self.arrival_ms / 1000.0,
            "Data": self.data,
            "PartitionKey": self.partition_key,
        }

    def as_json(self) -> bytes:
        """Written once and kept: every reader of the shard gets the same bytes."""
        if self._json is None:
            self._json = (
                b'{"SequenceNumber":"%b","ApproximateArrivalTimestamp":%.3f,"Data":"%b","PartitionKey":%b}'
                % (
                    self.sequence_number.encode("ascii"),
                    self.arrival_ms / 1000.0,
                    b64encode(self.data),
                    orjson.dumps(self.partition_key),
                )
            )
        return self._json
