"""Where a reader opens a shard, in the service's words."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.consumer.checkpoint import AT_TIMESTAMP, LATEST, TRIM_HORIZON
from shardlane.consumer.lease import Lease


@dataclass(frozen=True, slots=True)
class Opening:
    """One of the iterator types, with what belongs to it."""

    kind: str
    number: str | None = None
    at_ms: int | None = None

    @staticmethod
    def horizon() -> Opening:
        return Opening(TRIM_HORIZON)

    @staticmethod
    def after(sequence_number: str) -> Opening:
        return Opening("AFTER_SEQUENCE_NUMBER", number=sequence_number)

    @property
    def is_numbered(self) -> bool:
        return self.number is not None

    def iterator_request(self) -> dict[str, str | float]:
        """The part of GetShardIterator that says where."""
        request: dict[str, str | float] = {"ShardIteratorType": self.kind}
        if self.number is not None:
            request["StartingSequenceNumber"] = self.number
        if self.at_ms is not None:
            request["Timestamp"] = self.at_ms / 1000
        return request

    def starting_position(self) -> dict[str, str | float]:
        """``StartingPosition`` of SubscribeToShard."""
        position: dict[str, str | float] = {"Type": self.kind}
        if self.number is not None:
            position["SequenceNumber"] = self.number
        if self.at_ms is not None:
            position["Timestamp"] = self.at_ms / 1000
        return position


def opening_of(row: Lease) -> Opening:
    """Where to read on by a lease.

    A number is opened *at* and not after, for the rest of an aggregate that may follow; see
    ``skip_through``. A start by time without its time (another library wrote the row) is a start
    at the horizon: nothing is lost.
    """
    checkpoint = row.checkpoint
    if checkpoint.is_number:
        return Opening("AT_SEQUENCE_NUMBER", number=checkpoint.value)
    if checkpoint.value in (LATEST, AT_TIMESTAMP) and row.start_ms is not None:
        return Opening(AT_TIMESTAMP, at_ms=row.start_ms)
    return Opening.horizon()


def skip_through(row: Lease) -> tuple[int, int] | None:
    """What a reader that opened by this lease reads again: up to this number and place."""
    checkpoint = row.checkpoint
    return (int(checkpoint.value), checkpoint.sub) if checkpoint.is_number else None
