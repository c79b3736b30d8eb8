"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.consumer.counters import Counters


@dataclass(frozen=True, slots=True)
class Undrained:
    """A shard that was given up while handlers still ran: their records come again."""

    shard_id: str
    running: int


@dataclass(frozen=True, slots=True)
class Ending:
    """What ``Subscription.run`` returns once it was stopped."""

    counters: Counters
    undrained: tuple[Undrained, ...]

    @property
    def is_clean(self) -> bool:
        """Whether everything that had started was finished."""
        return not self.undrained
