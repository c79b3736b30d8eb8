"""Between a shard's reader and the function: filters, splits by partition key, bounds."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardlane_lab.local_lambda.batch import Batch, Gathering
from shardlane_lab.local_lambda.checkpoint import After, Checkpoints, OpenWindow
from shardlane_lab.local_lambda.event_filter import Filters
from shardlane_lab.local_lambda.kinesis_record import Record, record_from
from shardlane_lab.local_lambda.mapping_config import MappingConfig
from shardlane_lab.local_lambda.mapping_metrics import MappingMetrics
from shardlane_lab.local_lambda.watermark import Watermark

MAX_WAITING_RECORDS = 10_000
"""Of one shard, read and not yet handled; the reader waits beyond it, so that a slice that
retries for ever does not fill the memory with the records of the others."""


def slice_of(partition_key: str, slices: int) -> int:
    """Which of a shard's concurrent batches a key belongs to; always the same one."""
    return zlib.crc32(partition_key.encode()) % slices


class Slice:
    """Records waiting for one of a shard's concurrent batches."""

    def __init__(self, number: int, config: MappingConfig) -> None:
        self.number = number
        self.gathering = Gathering(config)
        self.changed = asyncio.Event()
        self.busy = False
        """While one of its batches is in the function or waits for its retry."""


class ShardIntake:
    def __init__(
        self,
        shard_id: str,
        config: MappingConfig,
        filters: Filters,
        metrics: MappingMetrics,
        checkpoints: Checkpoints,
    ) -> None:
        self._shard_id = shard_id
        self._filters = filters
        self._metrics = metrics
        self._checkpoints = checkpoints
        self._watermark = Watermark()
        self._read = 0
        self._room = asyncio.Event()
        self.slices = [Slice(each, config) for each in range(config.parallelization_factor)]
        self.closed = False
        """The shard has ended: nothing more will be added."""
        self.last_read: str | None = None
        """Sequence number of the last record added."""

    def add(self, values: Sequence[Mapping[str, Any]], now_s: float) -> None:
        """Takes the records of one answer or event, possibly none."""
        dropped = [self._place(record_from(each, self._read), now_s) for each in values]
        self._metrics.polled(len(values), sum(dropped))

    def _place(self, record: Record, now_s: float) -> bool:
        """Whether the filters dropped the record; then it is finished."""
        self._read += 1
        self.last_read = record.sequence_number
        self._watermark.register(record.index, record.sequence_number)
        if not self._filters.keep(record):
            self.settle((record,))
            return True
        chosen = self.slices[slice_of(record.partition_key, len(self.slices))]
        chosen.gathering.add(record, now_s)
        chosen.changed.set()
        return False

    def close(self) -> None:
        self.closed = True
        for each in self.slices:
            each.changed.set()

    def take(
        self, of: Slice, now_s: float, together: Callable[[Record, Record], bool] | None
    ) -> Batch:
        of.busy = True
        return of.gathering.take(now_s, together)

    def release(self, of: Slice) -> None:
        """The slice is done with its batch and can use more."""
        of.busy = False
        self._room.set()

    def settle(self, records: Sequence[Record]) -> None:
        """Handled, filtered out or given up: the checkpoint may pass them."""
        if self._watermark.settle(record.index for record in records):
            assert self._watermark.sequence_number is not None
            self._checkpoints.save(self._shard_id, After(self._watermark.sequence_number))
        self._room.set()

    def open_window(self, of: Slice) -> OpenWindow | None:
        """The tumbling window that was open when the mapping stopped."""
        return self._checkpoints.load_window(self._shard_id, of.number)

    def keep_window(self, of: Slice, window: OpenWindow | None) -> None:
        self._checkpoints.save_window(self._shard_id, of.number, window)

    async def wait_wanted(self) -> None:
        """Returns when a slice has nothing to do, or waits for its batch to fill up."""
        while self._crowded or not any(
            not each.busy and not each.gathering.full for each in self.slices
        ):
            await self._wait_room()

    async def wait_room(self) -> None:
        """Returns when fewer records wait than the bound."""
        while self._crowded:
            await self._wait_room()

    @property
    def _crowded(self) -> bool:
        return self._watermark.unsettled >= MAX_WAITING_RECORDS

    async def _wait_room(self) -> None:
        self._room.clear()
        await self._room.wait()
