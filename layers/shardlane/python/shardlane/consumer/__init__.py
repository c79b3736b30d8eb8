"""The long-running consumer: shared throughput or enhanced fan-out, workers by key, leases.

The public names are those in ``__all__``; what is not listed may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlane.consumer.boto3_kinesis import Boto3Kinesis as Boto3Kinesis
    from shardlane.consumer.bounds import Bounds as Bounds
    from shardlane.consumer.dynamodb_lease_store import DynamoDBLeaseStore as DynamoDBLeaseStore
    from shardlane.consumer.ending import Ending as Ending
    from shardlane.consumer.errors import ConsumerError as ConsumerError
    from shardlane.consumer.memory_lease_store import MemoryLeaseStore as MemoryLeaseStore
    from shardlane.consumer.position import Position as Position
    from shardlane.consumer.source import Source as Source
    from shardlane.consumer.stats import Stats as Stats
    from shardlane.consumer.stats_sink import EmbeddedMetricStats as EmbeddedMetricStats
    from shardlane.consumer.stats_sink import StatsInMemory as StatsInMemory
    from shardlane.consumer.stats_sink import StatsSink as StatsSink
    from shardlane.consumer.subscription import Subscription as Subscription
    from shardlane.consumer.terms import Terms as Terms
    from shardlane.consumer.tuning import Tuning as Tuning
    from shardlane.consumer.worker_plan import by_key as by_key
    from shardlane.consumer.worker_plan import workers as workers

# Imported when first used, as in the package itself: a worker without DynamoDB pays for none.
_HOMES = {
    "Boto3Kinesis": "boto3_kinesis",
    "Bounds": "bounds",
    "ConsumerError": "errors",
    "DynamoDBLeaseStore": "dynamodb_lease_store",
    "Ending": "ending",
    "MemoryLeaseStore": "memory_lease_store",
    "Position": "position",
    "Source": "source",
    "EmbeddedMetricStats": "stats_sink",
    "Stats": "stats",
    "StatsInMemory": "stats_sink",
    "StatsSink": "stats_sink",
    "Subscription": "subscription",
    "Terms": "terms",
    "Tuning": "tuning",
    "by_key": "worker_plan",
    "workers": "worker_plan",
}

__all__ = [
    "Boto3Kinesis",
    "Bounds",
    "ConsumerError",
    "DynamoDBLeaseStore",
    "EmbeddedMetricStats",
    "Ending",
    "MemoryLeaseStore",
    "Position",
    "Source",
    "Stats",
    "StatsInMemory",
    "StatsSink",
    "Subscription",
    "Terms",
    "Tuning",
    "by_key",
    "workers",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
