"""One shard: an append-only log with the limits that all its readers share."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.hash_key import HashKeyRange
from shardlane_lab.local_kinesis.limiter import Limiter, limiter
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.sequence import SequenceNumbers

_WRITTEN = attrgetter("written_ms")
_VISIBLE = attrgetter("visible_ms")
_ARRIVAL = attrgetter("arrival_ms")
_END_BYTES = attrgetter("end_bytes")
_SEQUENCE = attrgetter("sequence_number")

_COMPACT_FROM = 4096
"""Trimmed records are dropped from the list in bulk, once they are this many and its half."""


class ShardLimiters:
    """The rates of one shard."""

    def __init__(self, limits: Limits) -> None:
        self.get_records: Limiter = limiter(
            limits.get_records_per_s, limits.get_records_burst, limits.get_records_shape
        )
        self.read_bytes: Limiter = limiter(limits.read_bytes_per_s)
        self.write_bytes: Limiter = limiter(limits.write_bytes_per_s)
        self.write_records: Limiter = limiter(limits.write_records_per_s)
        self.get_shard_iterator: Limiter = limiter(limits.get_shard_iterator_per_s)
        self.read_blocked_until_ms = float("-inf")
        """After an answer larger than a second's worth, reads are refused until its bytes are
        paid for: five seconds after 10 MiB (GetRecords, API Reference)."""


class Shard:
    """Positions are counts: *index* n means "n records were written before"."""

    def __init__(
        self,
        number: int,
        keys: HashKeyRange,
        born_ms: int,
        limits: Limits,
        random: Random,
        parents: tuple[Shard, ...] = (),
    ) -> None:
        self.number = number
        self.shard_id = f"shardId-{number:012d}"
        self.keys = keys
        self.born_ms = born_ms
        self.closed_ms: float | None = None
        self.parents = parents
        self.children: list[Shard] = []
        self.numbers = SequenceNumbers(born_ms, number, random)
        self.limiters = ShardLimiters(limits)
        self.watchers: set[Callable[[], None]] = set()
        """Told when something was written or the shard closed."""
        self._records: list[StoredRecord] = []
        self._base = 0
        """Index of ``_records[0]``."""
        self._first = 0
        """Index of the oldest record that retention left."""
        self._written_bytes = 0
        self._trimmed_bytes = 0
        self._arrivals_in_order = True

    @property
    def open(self) -> bool:
        return self.closed_ms is None

    @property
    def first_index(self) -> int:
        return self._first

    @property
    def end_index(self) -> int:
        return self._base + len(self._records)

    @property
    def held_bytes(self) -> int:
        return self._written_bytes - self._trimmed_bytes

    @property
    def ending_sequence_number(self) -> str | None:
        """None while the shard is open."""
        return None if self.open else self.numbers.largest

    def append(
        self,
        partition_key: str,
        data: bytes,
        size_bytes: int,
        now_ms: float,
        skew_ms: float,
        visibility_ms: float,
    ) -> StoredRecord:
        """Writes a record; written times never go back, whatever the caller's clock does."""
        written_ms = now_ms
        visible_ms = now_ms + visibility_ms
        arrival_ms = int(now_ms + skew_ms)
        if self._records:
            last = self._records[-1]
            if last.written_ms > now_ms:
                written_ms = last.written_ms
                visible_ms = written_ms + visibility_ms
                arrival_ms = int(written_ms + skew_ms)
            if last.visible_ms > visible_ms:
                visible_ms = last.visible_ms
            if last.arrival_ms > arrival_ms:
                self._arrivals_in_order = False
        self._written_bytes += size_bytes
        record = StoredRecord(
            self.numbers.following(),
            partition_key,
            data,
            size_bytes,
            arrival_ms,
            written_ms,
            visible_ms,
        )
        record.end_bytes = self._written_bytes
        self._records.append(record)
        return record

    def notify(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()

    def close(self, now_ms: float, children: list[Shard]) -> None:
        self.closed_ms = now_ms
        self.children = children

    def trim(self, horizon_ms: float) -> int:
        """Forgets what was written before ``horizon_ms``; returns the bytes that went."""
        if self._first == self.end_index or self.record(self._first).written_ms >= horizon_ms:
            return 0
        start = self._first - self._base
        stop = bisect_left(self._records, horizon_ms, lo=start, key=_WRITTEN)
        trimmed = self._records[stop - 1].end_bytes - self._trimmed_bytes
        self._trimmed_bytes += trimmed
        self._first = self._base + stop
        if stop > _COMPACT_FROM and stop * 2 > len(self._records):
            del self._records[:stop]
            self._base = self._first
        elif stop == len(self._records):
            self._records.clear()
            self._base = self._first
        return trimmed

    def record(self, index: int) -> StoredRecord:
        return self._records[index - self._base]

    def visible(
        self, index: int, now_ms: float, count: int, byte_cap: int
    ) -> Sequence[StoredRecord]:
        """What a poll at ``now_ms`` sees from ``index`` on: at most ``count`` records and
        ``byte_cap`` bytes, but at least one if there is one."""
        start = max(index, self._first) - self._base
        stop = min(start + count, len(self._records))
        if stop <= start:
            return ()
        if self._records[stop - 1].visible_ms > now_ms:
            stop = bisect_right(self._records, now_ms, lo=start, hi=stop, key=_VISIBLE)
            if stop <= start:
                return ()
        before = self._records[start].end_bytes - self._records[start].size_bytes
        if self._records[stop - 1].end_bytes - before > byte_cap:
            cut = bisect_right(self._records, before + byte_cap, lo=start, hi=stop, key=_END_BYTES)
            stop = max(cut, start + 1)
        return self._records[start:stop]

    def index_at_time(self, at_ms: float) -> int:
        """Of the first record that arrived at ``at_ms`` or later."""
        start = self._first - self._base
        if self._arrivals_in_order:
            return self._base + bisect_left(self._records, at_ms, lo=start, key=_ARRIVAL)
        for offset in range(start, len(self._records)):
            if self._records[offset].arrival_ms >= at_ms:
                return self._base + offset
        return self.end_index

    def index_of(self, sequence_number: str, after: bool) -> int | None:
        """The position at (or after) a number; a trimmed one is the oldest record. None if the
        number is not of this shard or was not given out yet."""
        counter = self.numbers.counter_of(sequence_number)
        if counter is None:
            return None
        if counter > self.numbers.counter + 1 and sequence_number != self.ending_sequence_number:
            return None  # one past the last record is a subscription's idle position
        search = bisect_right if after else bisect_left
        start = self._first - self._base
        return self._base + search(self._records, sequence_number, lo=start, key=_SEQUENCE)

    def position_number(self, index: int) -> str:
        """A number between the record before ``index`` and the one at it."""
        if index > self._base:
            return self.numbers.at(self._counter_at(index - 1) + 1)
        if index == self.end_index:
            return self.numbers.at(self.numbers.counter + 1)
        return self.numbers.at(self._counter_at(index) - 1)

    def _counter_at(self, index: int) -> int:
        counter = self.numbers.counter_of(self.record(index).sequence_number)
        assert counter is not None  # its own record
        return counter

    def as_dict(self) -> dict[str, Any]:
        """As ListShards shows it."""
        range_ = {"StartingSequenceNumber": self.numbers.first}
        if self.ending_sequence_number is not None:
            range_["EndingSequenceNumber"] = self.ending_sequence_number
        shown: dict[str, Any] = {"ShardId": self.shard_id}
        for name, parent in zip(
            ("ParentShardId", "AdjacentParentShardId"), self.parents, strict=False
        ):
            shown[name] = parent.shard_id
        return shown | {
            "HashKeyRange": self.keys.as_dict(),
            "SequenceNumberRange": range_,
        }

    def child_shards(self) -> list[dict[str, Any]]:
        """As the last answer of a closed shard shows them."""
        return [
            {
                "ShardId": child.shard_id,
                "ParentShards": [parent.shard_id for parent in child.parents],
                "HashKeyRange": child.keys.as_dict(),
            }
            for child in self.children
        ]
