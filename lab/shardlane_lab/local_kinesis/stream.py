"""A stream: its shards, its consumers, its settings and the changes that are under way.

Changes take time (CREATING, UPDATING, DELETING). They are kept with the moment at which they take
effect and applied by ``settle(now)``, which every operation calls first: no timer is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from shardlane_lab.local_kinesis.consumer import StreamConsumer
from shardlane_lab.local_kinesis.hash_key import HashKeyRange, even_ranges
from shardlane_lab.local_kinesis.limiter import limiter
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.shard import Shard

MS_PER_HOUR = 3_600_000.0


@dataclass(slots=True)
class StreamSettings:
    """What a caller may change, and what is only echoed (encryption, monitoring, mode)."""

    retention_h: int = 24
    mode: str = "PROVISIONED"
    max_record_kib: int = 1024
    distribution: str = "USER_PARTITION_KEY"
    encryption: str = "NONE"
    key_id: str | None = None
    shard_metrics: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    policy: str | None = None
    warm_mibps: int | None = None

    @property
    def max_record_bytes(self) -> int:
        return self.max_record_kib * 1024


@dataclass(slots=True)
class Change:
    """Takes effect at ``due_ms``; until then the stream's status is ``status``."""

    due_ms: float
    status: str
    apply: Callable[[float], None]


class Stream:
    def __init__(
        self,
        name: str,
        arn: str,
        generation: int,
        created_ms: float,
        settings: StreamSettings,
        limits: Limits,
        random: Random,
    ) -> None:
        self.name = name
        self.arn = arn
        self.generation = generation
        self.created_ms = created_ms
        self.settings = settings
        self.shards: list[Shard] = []
        """By number, also the closed ones; the oldest may be forgotten (None is not kept: see
        ``listed``)."""
        self.consumers: dict[str, StreamConsumer] = {}
        self.scaled_ms: deque[float] = deque()
        """When UpdateShardCount was called in the last 24 hours."""
        self.list_shards = limiter(limits.list_shards_per_s)
        self.gone = False
        self.round_robin = 0
        """The next shard under the distribution strategy AUTO."""
        self._limits = limits
        self._random = random
        self._changes: list[Change] = []
        self._leaving: list[StreamConsumer] = []
        """Consumers that are being deleted, the first to go first."""
        self._open: list[Shard] = []
        self._open_starts: list[int] = []

    # --- changes that take time -------------------------------------------------------------

    def change(self, change: Change) -> None:
        self._changes.append(change)

    def delete(self, change: Change) -> None:
        """Whatever else was under way no longer matters."""
        self._changes = [change]

    def settle(self, now_ms: float) -> None:
        """Applies what has become due by ``now_ms``."""
        while self._changes and self._changes[0].due_ms <= now_ms:
            due = self._changes.pop(0)
            due.apply(due.due_ms)
        if self._leaving and self._leaving[0].gone(now_ms):
            for consumer in [each for each in self._leaving if each.gone(now_ms)]:
                self._leaving.remove(consumer)
                self.consumers.pop(consumer.name, None)

    def deregister(self, consumer: StreamConsumer, gone_ms: float) -> None:
        """The consumer is DELETING until then."""
        if consumer.deleted_ms is None:
            consumer.deleted_ms = gone_ms
            self._leaving.append(consumer)

    @property
    def next_change_ms(self) -> float:
        return self._changes[0].due_ms if self._changes else float("inf")

    @property
    def status(self) -> str:
        return self._changes[0].status if self._changes else "ACTIVE"

    @property
    def usable(self) -> bool:
        """Whether records can be written and read: also while UPDATING."""
        return self.status in ("ACTIVE", "UPDATING")

    # --- shards -----------------------------------------------------------------------------

    @property
    def open_shards(self) -> list[Shard]:
        """In the order of their hash keys."""
        return self._open

    def add_even_shards(self, count: int, now_ms: float) -> None:
        for keys in even_ranges(count):
            self._add(keys, int(now_ms), ())
        self._index_open()

    def _add(self, keys: HashKeyRange, born_ms: int, parents: tuple[Shard, ...]) -> Shard:
        shard = Shard(len(self.shards), keys, born_ms, self._limits, self._random, parents)
        self.shards.append(shard)
        return shard

    def _index_open(self) -> None:
        self._open = sorted((s for s in self.shards if s.open), key=lambda s: s.keys.start)
        self._open_starts = [shard.keys.start for shard in self._open]

    def replace(
        self, parents: tuple[Shard, ...], ranges: list[HashKeyRange], now_ms: float
    ) -> list[Shard]:
        """Closes ``parents`` and opens their children, which it returns: one parent and two
        ranges is a split, two parents and one range a merge. Call ``resharded`` after the last
        one."""
        born_ms = max(int(now_ms), *(parent.born_ms + 1 for parent in parents))
        children = [self._add(keys, born_ms, parents) for keys in ranges]
        for parent in parents:
            parent.close(now_ms, children)
        return children

    def resharded(self) -> None:
        """Routes by the shards that are open now, and wakes the readers of those that closed."""
        before = self._open
        self._index_open()
        for shard in before:
            if not shard.open:
                shard.notify()

    def notify_all(self) -> None:
        """Wakes every subscription: a change was scheduled that may end its shard."""
        for shard in self._open:
            shard.notify()

    def shard_for(self, key: int) -> Shard:
        return self._open[bisect_right(self._open_starts, key) - 1]

    def shard_named(self, shard_id: str) -> Shard | None:
        try:
            number = int(shard_id.rpartition("-")[2])
        except ValueError:
            return None
        shard = self.shards[number] if 0 <= number < len(self.shards) else None
        return shard if shard is not None and shard.shard_id == shard_id else None

    def horizon_ms(self, now_ms: float) -> float:
        """What was written before it is gone."""
        return now_ms - self.settings.retention_h * MS_PER_HOUR

    def expired(self, shard: Shard, now_ms: float) -> bool:
        """A closed shard that retention has passed: no longer listed nor readable."""
        return shard.closed_ms is not None and shard.closed_ms < self.horizon_ms(now_ms)

    def listed(self, now_ms: float) -> list[Shard]:
        return [shard for shard in self.shards if not self.expired(shard, now_ms)]

    def trim(self, now_ms: float) -> int:
        """Applies retention to every shard; returns the bytes that went."""
        horizon_ms = self.horizon_ms(now_ms)
        return sum(shard.trim(horizon_ms) for shard in self.shards)

    @property
    def held_bytes(self) -> int:
        return sum(shard.held_bytes for shard in self.shards)

    # --- what describe operations show ------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """The part that DescribeStream and DescribeStreamSummary have in common.

        Never a ``StreamId``: SDKs derive the endpoint from a well-formed one and would call AWS
        instead of the configured URL.
        """
        shown: dict[str, Any] = {
            "StreamName": self.name,
            "StreamARN": self.arn,
            "StreamStatus": self.status,
            "StreamModeDetails": {"StreamMode": self.settings.mode},
            "RetentionPeriodHours": self.settings.retention_h,
            "StreamCreationTimestamp": int(self.created_ms / 1000.0),
            "EnhancedMonitoring": [{"ShardLevelMetrics": list(self.settings.shard_metrics)}],
            "EncryptionType": self.settings.encryption,
        }
        if self.settings.key_id is not None:
            shown["KeyId"] = self.settings.key_id
        return shown
