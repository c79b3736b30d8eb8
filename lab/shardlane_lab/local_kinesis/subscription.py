"""One SubscribeToShard subscription, as something to ask: what is due now, and when is more due.

Pure: a shell asks ``next_event`` until it is None, waits until ``next_due_ms`` or until it is
told that something changed, and asks again.

Source: SubscribeToShard in the API Reference (five minutes, 2 MiB a second, ``ChildShards`` at
the end of a shard). That an idle subscription gets empty events is observed, not documented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.consumer import ShardAccess
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.faults import EVENT_KINDS, Fault, FaultKind
from shardlane_lab.local_kinesis.record import StoredRecord
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream

HEARTBEAT_MS = 5000.0
"""An idle subscription gets an event without records this often; clients give up after ten
seconds of silence (lifion) or more."""
EVENT_BYTES = 1024 * 1024
EVENT_RECORDS = 10_000


@dataclass(frozen=True, slots=True)
class SubscribeToShardEvent:
    records: Sequence[StoredRecord]
    continuation: str | None
    """None in the last event of a closed shard."""
    behind_ms: int
    child_shards: list[dict[str, Any]] | None = None
    """In the last event of a closed shard only."""
    fault: Fault | None = None
    """What goes wrong with this event on its way."""

    def as_dict(self) -> dict[str, Any]:
        """As boto3 shows it, but time-stamps in seconds."""
        shown: dict[str, Any] = {"Records": [record.as_dict() for record in self.records]}
        if self.continuation is not None:
            shown["ContinuationSequenceNumber"] = self.continuation
        shown["MillisBehindLatest"] = self.behind_ms
        if self.child_shards is not None:
            shown["ChildShards"] = self.child_shards
        return shown


@dataclass(frozen=True, slots=True)
class PushDelay:
    """Draws how long after its arrival a record is pushed."""

    delays: Delays
    random: Random
    caller: Caller

    def due_ms(self, record: StoredRecord) -> float:
        return record.written_ms + self.delays.push_ms(self.random, self.caller)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the service adds to a shard's log on its way to the consumer."""

    life_s: float | None
    delay: PushDelay
    emit: Callable[[str, float, float], None] | None
    """Told name, value and time of each metric; None if nobody wants to know."""
    draw: Callable[[frozenset[FaultKind]], Fault | None]
    """The fault of these kinds that happens now, if any."""


class Subscription:
    def __init__(
        self,
        stream: Stream,
        shard: Shard,
        access: ShardAccess,
        index: int,
        now_ms: float,
        delivery: Delivery,
    ) -> None:
        self.first_fault = delivery.draw(frozenset({FaultKind.EXCEPTION_FIRST}))
        """What happens instead of the first frame."""
        self.on_change: Callable[[], None] | None = None
        """Set by the shell: called when ``next_due_ms`` may have come nearer."""
        self.ended = False
        """No event will come any more: ``error`` says why, None is a clean end."""
        self.error: ServiceError | None = None
        self._stream = stream
        self._shard = shard
        self._access = access
        self._index = index
        life_s = delivery.life_s
        self._expires_ms = float("inf") if life_s is None else now_ms + life_s * 1000
        self._beat_ms = now_ms + HEARTBEAT_MS
        self._delivery = delivery
        self._head_due_ms: float | None = None
        """Of the record at ``_index``; drawn once."""
        shard.watchers.add(self._changed)

    # --- for shells -------------------------------------------------------------------------

    def next_event(self, now_ms: float) -> SubscribeToShardEvent | None:
        """The event that is due, or None: then look at ``ended`` and ``next_due_ms``."""
        if self.ended:
            return None
        self._stream.settle(now_ms)
        if now_ms >= self._expires_ms:
            self.close()
            return None
        records = self._due_records(now_ms)
        if records or self._at_shard_end or now_ms >= self._beat_ms:
            return self._event(records, now_ms)
        return None

    def next_due_ms(self, now_ms: float) -> float:
        """When the next event or the end is due if nothing else happens."""
        due_ms = min(self._expires_ms, self._beat_ms, self._stream.next_change_ms)
        if self._index < self._shard.end_index:
            ready_ms = self._access.push_bytes.ready_ms(now_ms, 1)
            due_ms = min(due_ms, max(self._due_ms(), ready_ms))
        return now_ms if self._at_shard_end else due_ms

    def close(self) -> None:
        """Ends it cleanly: the client left, five minutes are over, or another took over."""
        self.ended = True
        self._shard.watchers.discard(self._changed)
        if self._access.subscription is self:
            self._access.subscription = None

    def fail(self, error: ServiceError) -> None:
        """Ends it with an exception event."""
        if not self.ended:
            self.error = error
            self.supersede()

    def supersede(self) -> None:
        """Ends it from outside and wakes its shell."""
        self.close()
        self._changed()

    # --- inside -----------------------------------------------------------------------------

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()

    @property
    def _at_shard_end(self) -> bool:
        return not self._shard.open and self._index >= self._shard.end_index

    def _due_ms(self) -> float:
        """Of the next record. One that draws a shorter delay than the record before it waits for
        it: records are taken in their order."""
        if self._head_due_ms is None:
            self._head_due_ms = self._delivery.delay.due_ms(self._shard.record(self._index))
        return self._head_due_ms

    def _due_records(self, now_ms: float) -> list[StoredRecord]:
        self._shard.trim(self._stream.horizon_ms(now_ms))
        if self._index < self._shard.first_index:
            self._index, self._head_due_ms = self._shard.first_index, None
        records: list[StoredRecord] = []
        if not self._access.push_bytes.allows(now_ms, 1):
            return records
        size_bytes = 0
        while self._index < self._shard.end_index and len(records) < EVENT_RECORDS:
            record = self._shard.record(self._index)
            if self._due_ms() > now_ms:
                break
            if records and size_bytes + record.size_bytes > EVENT_BYTES:
                break
            size_bytes += record.size_bytes
            records.append(record)
            self._head_due_ms = None
            self._index += 1
        self._access.push_bytes.charge(now_ms, size_bytes)
        return records

    def _event(self, records: list[StoredRecord], now_ms: float) -> SubscribeToShardEvent:
        self._beat_ms = now_ms + HEARTBEAT_MS
        behind_ms = self._behind_ms(now_ms)
        self._count(records, behind_ms, now_ms)
        fault = self._delivery.draw(EVENT_KINDS)
        # The end is an event of its own: lifion-kinesis, for one, drops the records of an event
        # that has no number to continue from.
        if self._at_shard_end and not records:
            children = self._shard.child_shards()
            self.close()
            return SubscribeToShardEvent([], None, behind_ms, children, fault)
        number = (
            records[-1].sequence_number if records else self._shard.position_number(self._index)
        )
        self._maybe_repeat(len(records))
        return SubscribeToShardEvent(records, number, behind_ms, None, fault)

    def _maybe_repeat(self, count: int) -> None:
        """A fault by request: the last records come again."""
        fault = self._delivery.draw(frozenset({FaultKind.DUPLICATE})) if count else None
        if fault is not None:
            self._index -= min(fault.records, count)
            self._head_due_ms = None

    def _behind_ms(self, now_ms: float) -> int:
        """The age of the next record, 0 at the tip. One that is only on its way (its delay has
        not passed) does not count as unread."""
        if self._index >= self._shard.end_index or self._due_ms() > now_ms:
            return 0
        return max(0, int(now_ms - self._shard.record(self._index).written_ms))

    def _count(self, records: list[StoredRecord], behind_ms: int, now_ms: float) -> None:
        emit = self._delivery.emit
        if emit is None:
            return
        emit("SubscribeToShardEvent.Success", 1, now_ms)
        emit("SubscribeToShardEvent.Records", len(records), now_ms)
        emit("SubscribeToShardEvent.Bytes", sum(record.size_bytes for record in records), now_ms)
        emit("SubscribeToShardEvent.MillisBehindLatest", behind_ms, now_ms)
