"""A batch with its history, and how the next one is gathered. Pure: time is an argument."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import MAX_EVENT_BYTES, MappingConfig


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one shard (or of one key-slice of it) on their way through the function."""

    records: tuple[Record, ...]
    retries: int = 0
    """Retries used up, against ``maximum_retry_attempts``."""
    invokes: int = 0
    """Invocations so far that these records were part of."""


class Gathering:
    """The records of one slice that no batch has taken yet.

    Source: "Batching behavior", Lambda Developer Guide: a batch goes when the window has passed,
    the batch size is reached, or the event has 6 MB; without a window, as soon as there is a
    record.
    """

    def __init__(self, config: MappingConfig) -> None:
        self._config = config
        self._records: deque[Record] = deque()
        self._bytes = 0
        self._opened_s = 0.0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def first(self) -> Record | None:
        return self._records[0] if self._records else None

    @property
    def full(self) -> bool:
        return len(self._records) >= self._config.batch_size or self._bytes >= MAX_EVENT_BYTES

    def add(self, record: Record, now_s: float) -> None:
        if not self._records:
            self._opened_s = now_s
        self._records.append(record)
        self._bytes += record.event_bytes

    def due_s(self) -> float | None:
        """When the next batch goes, if nothing more comes; ``None`` without a record."""
        if not self._records:
            return None
        return self._opened_s + (0 if self.full else self._config.maximum_batching_window_s)

    def take(self, now_s: float, together: Callable[[Record, Record], bool] | None = None) -> Batch:
        """The next batch; at least one record must be there, and one always goes, however large.

        ``together(first, other)`` says whether ``other`` may be in one batch with ``first``.
        """
        first = self._records[0]
        taken: list[Record] = []
        size = 0
        while self._records and len(taken) < self._config.batch_size:
            record = self._records[0]
            if taken and size + record.event_bytes > MAX_EVENT_BYTES:
                break
            if together is not None and not together(first, record):
                break
            taken.append(self._records.popleft())
            size += record.event_bytes
        self._bytes -= size
        self._opened_s = now_s
        return Batch(tuple(taken))
