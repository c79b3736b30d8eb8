"""One record on its way from a reader to its handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardlane.consumer.held_record import HeldRecord
    from shardlane.consumer.lanes import Lane
    from shardlane.consumer.reading import Reading


class Delivery:
    """A record, where it came from and what has happened to it so far."""

    __slots__ = ("failures", "index", "key", "lane", "parked", "reading", "record", "size_bytes")

    lane: Lane
    """Set by ``Lanes.push``."""

    def __init__(
        self,
        record: HeldRecord,
        reading: Reading,
        index: int,
        size_bytes: int,
        key: str | None,
    ) -> None:
        self.record = record
        self.reading = reading
        self.index = index
        """Its place among the arrivals of its reading: what the watermark counts."""
        self.size_bytes = size_bytes
        self.key = key
        """Deliveries of one key run in order and one at a time; None has no order."""
        self.failures = 0
        """Failed attempts so far."""
        self.parked = False
        """In the lot already, with an earlier one of its key: settled once its turn comes."""
