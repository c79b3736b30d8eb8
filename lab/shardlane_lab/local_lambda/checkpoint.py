"""Where a mapping goes on after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class After:
    """Everything up to this record is finished."""

    sequence_number: str


@dataclass(frozen=True, slots=True)
class Since:
    """Nothing is finished yet; reading began at this time (epoch ms), so that what came after it
    is not skipped by a second start at LATEST."""

    timestamp_ms: float


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """The shard was closed and everything in it is finished."""


Checkpoint = After | Since | ShardEnd


class Checkpoints(Protocol):
    """The checkpoints of one mapping, by shard id."""

    def load(self) -> Mapping[str, Checkpoint]: ...

    def save(self, shard_id: str, checkpoint: Checkpoint) -> None: ...


class MemoryCheckpoints:
    """Outlives the mapping, not the process: as long as the local stream itself."""

    def __init__(self) -> None:
        self._by_shard: dict[str, Checkpoint] = {}

    def load(self) -> Mapping[str, Checkpoint]:
        return dict(self._by_shard)

    def save(self, shard_id: str, checkpoint: Checkpoint) -> None:
        self._by_shard[shard_id] = checkpoint


def starting_point(checkpoint: After | Since) -> dict[str, Any]:
    """As a ``StartingPosition`` of ``SubscribeToShard``."""
    if isinstance(checkpoint, After):
        return {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint.sequence_number}
    return {"Type": "AT_TIMESTAMP", "Timestamp": checkpoint.timestamp_ms / 1000.0}
