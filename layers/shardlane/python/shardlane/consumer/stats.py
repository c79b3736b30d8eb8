"""How a subscription is doing: one value, taken at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.consumer.counters import Counters
from shardlane.consumer.settlement import Held


@dataclass(frozen=True, slots=True)
class ShardStats:
    """One held shard. Ages and lags in milliseconds."""

    shard_id: str
    lag_ms: float
    """How late the shard is: the age of its oldest unsettled record, or how far its reader is
    behind if that is more. It keeps growing while reads fail."""
    behind_ms: int
    """``MillisBehindLatest`` of the last answer."""
    oldest_sequence_number: str | None
    """Of the oldest unsettled record, with its key."""
    oldest_key: str | None
    unsettled: int
    """Records that arrived and that the checkpoint may not pass yet."""
    running: int
    waiting: int
    """In the channel, not started."""
    checkpoint: str
    checkpoint_age_ms: float
    """How long ago the checkpoint was written; 0 while nothing has arrived after it."""
    renewed_ms: float
    """How long ago the lease was last written."""


@dataclass(frozen=True, slots=True)
class Stats:
    """A subscription. ``counters`` are since the start of the run."""

    counters: Counters
    shards: tuple[ShardStats, ...]
    channel_depth: int
    keys_aside: int
    """Keys that wait for their next attempt."""
    held: tuple[Held, ...]
    """Keys that ``STOP`` holds up, longest first."""

    @property
    def lag_ms(self) -> float:
        """Of the latest shard; 0 without shards."""
        return max((shard.lag_ms for shard in self.shards), default=0.0)

    @property
    def latest(self) -> ShardStats | None:
        """The shard that is the latest, and in it the key."""
        return max(self.shards, key=lambda shard: shard.lag_ms, default=None)
