"""How a subscription reads: shared throughput by polling, or enhanced fan-out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from shardlane.consumer.fan_out_reader import FanOutReader, Floor, SubscriptionRules
from shardlane.consumer.feed import Feed
from shardlane.consumer.pace import READS_PER_S, Pace, Pacing
from shardlane.consumer.polling_reader import PollingReader
from shardlane.consumer.reader import Service, ShardReader
from shardlane.consumer.stream import PatientCaller, registered_consumer
from shardlane.errors import SettingsError

ReaderFactory = Callable[[Feed], ShardReader]
"""Makes the reader of a held shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Made by ``polling`` or ``fan_out``."""

    consumer_name: str | None = None
    """The registered consumer; None reads by polling."""
    pacing: Pacing = field(default_factory=Pacing)
    rules: SubscriptionRules = field(default_factory=SubscriptionRules)

    @staticmethod
    def polling(interval_s: float = 0.2, *, reads_per_s: float = READS_PER_S) -> Source:
        """GetRecords. All readers of a shard share 5 calls and 2 MiB a second: with several, give
        each a share, as ``reads_per_s`` or by a longer ``interval_s``."""
        return Source(pacing=Pacing(interval_s=interval_s, reads_per_s=reads_per_s))

    @staticmethod
    def fan_out(consumer_name: str) -> Source:
        """SubscribeToShard with a registered consumer of that name, one per application: it is
        registered if need be, and never deregistered."""
        if not consumer_name:
            raise SettingsError("fan_out needs the name of a registered consumer")
        return Source(consumer_name=consumer_name)

    @property
    def patience_s(self) -> float:
        """Within this an answer is normal, and without one reading is in trouble."""
        return self.rules.silence_s if self.consumer_name else max(5.0, 2 * self.pacing.interval_s)

    async def reader_factory(
        self, service: Service, caller: PatientCaller, *, fresh_s: float, alone: bool
    ) -> ReaderFactory:
        """Finds, or registers, what reading needs. ``fresh_s`` and ``alone``: see
        ``FanOutReader``. Raises ``StreamConsumerError``."""
        if self.consumer_name is None:
            paces: defaultdict[str, Pace] = defaultdict(lambda: Pace(self.pacing))
            return lambda feed: PollingReader(feed, service, paces[feed.shard_id])
        arn = await registered_consumer(caller, service.stream_arn, self.consumer_name)
        floors: defaultdict[str, Floor] = defaultdict(Floor)
        return lambda feed: FanOutReader(
            feed, service, arn, self.rules, floors[feed.shard_id], fresh_s=fresh_s, alone=alone
        )
