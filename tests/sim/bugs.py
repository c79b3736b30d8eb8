"""Bugs that other consumers have had, put into ours: the checker has to find each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from shardlane.consumer import (
    fan_out_reader,
    held_shard,
    lease,
    observer,
    polling_reader,
)
from shardlane.consumer.channel import Channel
from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import Done
from shardlane.consumer.lineage import Beginning
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.consumer.opening import Opening
from shardlane.consumer.pace import Pace
from shardlane.consumer.quarantine import Parking, Quarantine
from shardlane.consumer.reading import RawRecord, Reading
from shardlane.consumer.settlement import Settlement
from shardlane.consumer.sightings import Sightings
from shardlane.consumer.tenure import Tenure
from shardlane.consumer.watermark import Watermark
from shardlane_lab.virtual_time import wall_ms

Bug = Callable[[pytest.MonkeyPatch], None]


def latest_settled_instead_of_the_prefix(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint is the highest settled record, whatever is open below it."""

    def settle(self: Watermark[Any], index: int) -> bool:
        offset = index - self._base
        self._settled[offset] = 1
        self._head = max(self._head, offset + 1)
        return True

    patch.setattr(Watermark, "settle", settle)


def children_at_latest(patch: pytest.MonkeyPatch) -> None:
    """A child of a shard that was read starts at the time of its discovery."""

    def from_horizon(self: Beginning, shard: Any) -> Lease:
        late: Lease = shard.lease(Checkpoint("LATEST"), self.stream_created_ms, int(wall_ms()))
        return late

    patch.setattr(Beginning, "from_horizon", from_horizon)


def checkpoints_without_fencing(patch: pytest.MonkeyPatch) -> None:
    """Whoever thinks that it holds a lease may write its checkpoint."""
    patch.setattr(lease, "may_write", lambda *_: True)


def a_full_channel_drops(patch: pytest.MonkeyPatch) -> None:
    """What does not fit is logged and forgotten."""
    offer = Channel.offer

    def lossy(self: Channel, reading: Reading, records: list[RawRecord]) -> None:
        if not self._is_filled:
            offer(self, reading, records)

    patch.setattr(Channel, "offer", lossy)


def no_deadline(patch: pytest.MonkeyPatch) -> None:
    """An owner goes on until a write of its tells that it lost the lease."""
    patch.setattr(Tenure, "deadline_s", property(lambda self: float("inf")))


def retries_do_not_hold_their_key(patch: pytest.MonkeyPatch) -> None:
    """A failed record goes to the end of its lane."""

    def set_aside(self: Channel, delivery: Delivery, due_s: float) -> None:
        self._lanes.finish(delivery)
        if not delivery.reading.halted:
            self._lanes.push(delivery)

    patch.setattr(Channel, "set_aside", set_aside)


def an_expired_iterator_reopens_at_latest(patch: pytest.MonkeyPatch) -> None:
    """What came since the last read is left out."""
    refused = polling_reader.PollingReader._refused

    def reopen(self: Any, refusal: Any) -> Any:
        if refusal.code == "ExpiredIteratorException":
            self._feed.opening = Opening("LATEST")
        return refused(self, refusal)

    patch.setattr(polling_reader.PollingReader, "_refused", reopen)


def a_subscription_resumes_at_latest(patch: pytest.MonkeyPatch) -> None:
    """After a stream that broke, what came meanwhile is left out."""
    turn = fan_out_reader.FanOutReader._turn

    async def forgetful(self: Any) -> None:
        if self._failures:
            self._feed.opening = Opening("LATEST")
        await turn(self)

    patch.setattr(fan_out_reader.FanOutReader, "_turn", forgetful)


def read_means_settled_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """SHARD_END is written when the last record was read, not when it was handled."""
    patch.setattr(Desk, "has_ended", lambda self, reading: reading.ended)


def a_child_needs_one_parent(patch: pytest.MonkeyPatch) -> None:
    """Of a merged shard's parents only one is waited for."""

    def is_startable(row: Lease, rows: Mapping[str, Lease], listed: Any) -> bool:
        known = [rows[parent] for parent in row.parents if parent in rows]
        return not known or any(parent.is_ended for parent in known)

    patch.setattr(observer, "is_startable", is_startable)


def children_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    """Every shard that is listed is read at once."""
    patch.setattr(observer, "is_startable", lambda *_: True)


def checkpoints_forget_the_place_in_an_aggregate(patch: pytest.MonkeyPatch) -> None:
    """After a crash within an aggregate, the rest of it is skipped."""

    def skip_through(row: Lease) -> tuple[int, int] | None:
        checkpoint = row.checkpoint
        return (int(checkpoint.value), 1_000) if checkpoint.is_number else None

    patch.setattr(held_shard, "skip_through", skip_through)


def everyone_else_is_dead(patch: pytest.MonkeyPatch) -> None:
    """Leases are taken without waiting for their time to live."""
    patch.setattr(Sightings, "is_expired", lambda self, row: True)


def a_seek_keeps_the_old_generation(patch: pytest.MonkeyPatch) -> None:
    """Acknowledgements from before a seek still move the checkpoint."""

    def reopen(self: Any, seek: Any) -> None:
        self._stop_reader()
        self._start_reader()
        self._seek = None
        seek.done.set_result(True)

    patch.setattr(held_shard.HeldShard, "_reopen", reopen)


def reads_without_a_pace(patch: pytest.MonkeyPatch) -> None:
    """The next read goes out as soon as the last one is answered."""
    patch.setattr(Pace, "started", lambda self, now_s: None)
    patch.setattr(Pace, "answered", lambda self, size_bytes, draw, *, at_tip: None)


def no_bound_on_the_unsettled(patch: pytest.MonkeyPatch) -> None:
    """A key that is stuck lets its shard fill the memory."""
    patch.setattr(Channel, "_admit_from", _unbounded(Channel._admit_from))


def _unbounded(admit_from: Any) -> Any:
    def unbounded(self: Any, reading: Reading, count: int) -> Any:
        bounds, self._bounds = self._bounds, replace(self._bounds, unsettled_records=10**6)
        try:
            return admit_from(self, reading, count)
        finally:
            self._bounds = bounds

    return unbounded


def checkpoints_at_every_move(patch: pytest.MonkeyPatch) -> None:
    """A write for every record that is settled."""
    patch.setattr(Tenure, "due_s", lambda self, *, moved: self.ok_s + (0.0 if moved else 3.0))
    renewal = held_shard.HeldShard._renewal

    def eager(self: Any, now_s: float) -> Any:
        self._checkpoint_s = float("-inf")
        return renewal(self, now_s)

    patch.setattr(held_shard.HeldShard, "_renewal", eager)


def a_create_overwrites(patch: pytest.MonkeyPatch) -> None:
    """A lease that is there already is created again, from the start."""

    async def create(self: Any, new: Lease) -> Any:
        self.rows[new.shard_id] = new
        return Done(new)

    patch.setattr(MemoryLeaseTable, "create", create)


def gates_are_not_read_at_a_take(patch: pytest.MonkeyPatch) -> None:
    """A new owner does not know what the last one has parked."""

    async def learn(self: Quarantine) -> None:
        """It asks nobody."""

    patch.setattr(Quarantine, "learn", learn)


def an_unknown_parking_did_not_happen(patch: pytest.MonkeyPatch) -> None:
    """Without an answer to T1 the record is taken for parked and its key for free."""
    park_first = Quarantine.park_first

    async def forgetful(self: Quarantine, delivery: Delivery, reason: str) -> Parking:
        answer = await park_first(self, delivery, reason)
        if answer is Parking.UNAVAILABLE:
            self.keys.discard(delivery.record.partition_key)
            return Parking.PARKED
        return answer

    patch.setattr(Quarantine, "park_first", forgetful)


def a_parked_key_goes_on(patch: pytest.MonkeyPatch) -> None:
    """The next record of a key that was just parked is handled."""
    patch.setattr(Settlement, "is_quarantined", lambda self, delivery: False)


BUGS: tuple[Bug, ...] = (
    latest_settled_instead_of_the_prefix,
    children_at_latest,
    checkpoints_without_fencing,
    a_full_channel_drops,
    no_deadline,
    retries_do_not_hold_their_key,
    an_expired_iterator_reopens_at_latest,
    a_subscription_resumes_at_latest,
    read_means_settled_at_the_end,
    a_child_needs_one_parent,
    children_do_not_wait,
    checkpoints_forget_the_place_in_an_aggregate,
    everyone_else_is_dead,
    a_seek_keeps_the_old_generation,
    reads_without_a_pace,
    no_bound_on_the_unsettled,
    checkpoints_at_every_move,
    a_create_overwrites,
    gates_are_not_read_at_a_take,
    an_unknown_parking_did_not_happen,
    a_parked_key_goes_on,
)
