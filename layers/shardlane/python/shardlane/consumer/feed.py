"""What a reader sees of the shard that it reads for: room, and where to put what it has read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from shardlane.consumer.bell import Bell
from shardlane.consumer.counters import Counters
from shardlane.consumer.desk import Desk
from shardlane.consumer.errors import KinesisRefused
from shardlane.consumer.gauge import ShardGauge
from shardlane.consumer.opening import Opening
from shardlane.consumer.reading import RawRecord, Reading

_log = logging.getLogger(__name__)

LOUD_AFTER_S = 30.0
"""A shard that waits for its unsettled records says so after this time, and again each time."""


class Feed:
    """One reading's supply. All times are the event loop's clock, in seconds."""

    def __init__(
        self,
        reading: Reading,
        opening: Opening,
        *,
        desk: Desk,
        counters: Counters,
        gauge: ShardGauge,
        confirm: Callable[[float], Awaitable[None]],
    ) -> None:
        self.reading = reading
        self.opening = opening
        """Where to read on: after what was offered last."""
        self.counters = counters
        self.confirm = confirm
        """Waits for a write to the lease that was sent at or after a time, and succeeded."""
        self.bell = Bell()
        """Rung when there may be room."""
        self._desk = desk
        self._gauge = gauge

    @property
    def shard_id(self) -> str:
        return self.reading.shard_id

    async def room(self) -> None:
        """Waits, for as long as it takes, until more may be read."""
        loop = asyncio.get_running_loop()
        loud_s = loop.time() + LOUD_AFTER_S
        while not self._desk.has_room(self.reading):
            await self.bell.wait(loud_s)
            if loop.time() >= loud_s:
                loud_s = loop.time() + LOUD_AFTER_S
                self._say_why_it_waits()

    def offer(self, records: Sequence[RawRecord], behind_ms: int) -> None:
        """Takes over what an answer brought; reading goes on after it from now on."""
        self._gauge.answered(asyncio.get_running_loop().time(), behind_ms)
        self.counters.reads += 1
        if records:
            self.counters.records_read += len(records)
            self._desk.offer(self.reading, records)
            self.opening = Opening.after(records[-1]["SequenceNumber"])

    def refused_position(self, refusal: KinesisRefused) -> None:
        """The service calls the position invalid. Raises ``refusal`` if it has no business to."""
        if self.opening.is_numbered:
            self._fall_to_horizon(refusal)
        elif self.opening.at_ms is not None:
            # By the service's clock it lies ahead: then the time will come.
            _log.warning("%s: cannot start yet: %s", self.shard_id, refusal)
        else:
            raise refusal

    def _fall_to_horizon(self, refusal: KinesisRefused) -> None:
        """Older than what is left, or never there: read what there is, and never skip to LATEST."""
        self.counters.gaps += 1
        _log.error(
            "%s: nothing to be found at %s (%s); going on at the oldest record. Records may have "
            "been lost to retention, or the stream is not the one of the checkpoint",
            self.shard_id,
            self.opening,
            refusal,
        )
        self.opening = Opening.horizon()
        self.reading.skip_through = None

    def _say_why_it_waits(self) -> None:
        if not self._desk.is_full(self.reading):
            return
        oldest = self.reading.watermark.oldest
        _log.warning(
            "%s: the reader waits: %d records are not settled, the oldest is %s",
            self.shard_id,
            self.reading.watermark.outstanding,
            "none" if oldest is None else oldest.sequence_number,
        )
