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


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """A tumbling window that has begun, with the state that the function last returned."""

    start_ms: float
    state: Mapping[str, Any]


class Checkpoints(Protocol):
    """The checkpoints of one mapping by shard id, and its open windows by shard id and slice."""

    def load(self) -> Mapping[str, Checkpoint]: ...

    def save(self, shard_id: str, checkpoint: Checkpoint) -> None: ...

    def load_window(self, shard_id: str, slice_number: int) -> OpenWindow | None: ...

    def save_window(self, shard_id: str, slice_number: int, window: OpenWindow | None) -> None: ...


class MemoryCheckpoints:
    """Outlives the mapping, not the process: as long as the local stream itself."""

    def __init__(self) -> None:
        self._by_shard: dict[str, Checkpoint] = {}
        self._windows: dict[tuple[str, int], OpenWindow | None] = {}

    def load(self) -> Mapping[str, Checkpoint]:
        return dict(self._by_shard)

    def save(self, shard_id: str, checkpoint: Checkpoint) -> None:
        self._by_shard[shard_id] = checkpoint

    def load_window(self, shard_id: str, slice_number: int) -> OpenWindow | None:
        return self._windows.get((shard_id, slice_number))

    def save_window(self, shard_id: str, slice_number: int, window: OpenWindow | None) -> None:
        self._windows[shard_id, slice_number] = window


def starting_point(checkpoint: After | Since) -> dict[str, Any]:
    """As a ``StartingPosition`` of ``SubscribeToShard``."""
    if isinstance(checkpoint, After):
        return {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint.sequence_number}
    return {"Type": "AT_TIMESTAMP", "Timestamp": checkpoint.timestamp_ms / 1000.0}
