"""The service's limits as one frozen value; ``None`` switches a limit off.

Source, unless a field says otherwise: "Quotas and limits" in the Amazon Kinesis Data Streams
Developer Guide and the operation's page in the API Reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from shardlane_lab.local_kinesis.limiter import LimiterShape

KIB = 1024
MIB = 1024 * KIB

CALLS_PER_S: Mapping[str, float] = {
    "AddTagsToStream": 5,
    "CreateStream": 5,
    "DecreaseStreamRetentionPeriod": 5,
    "DeleteStream": 5,
    "DeregisterStreamConsumer": 5,
    "DescribeLimits": 1,
    "DescribeStream": 10,
    "DescribeStreamConsumer": 20,
    "DescribeStreamSummary": 20,
    "IncreaseStreamRetentionPeriod": 5,
    "ListStreamConsumers": 5,
    "ListStreams": 5,
    "ListTagsForStream": 5,
    "MergeShards": 5,
    "RegisterStreamConsumer": 5,
    "RemoveTagsFromStream": 5,
    "SplitShard": 5,
    "UpdateShardCount": 10,
}
"""Calls per second and account of each control operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All of them hold per shard unless the name or the comment says otherwise."""

    get_records_per_s: float | None = 5
    """GetRecords calls, shared by all readers of the shard."""
    get_records_burst: float = 5
    """Calls at once after a pause; used by the token bucket only."""
    get_records_shape: LimiterShape = LimiterShape.TOKEN_BUCKET
    """AWS does not document it; the bucket fits the published measurement best."""
    read_bytes_per_s: float | None = 2 * MIB
    """GetRecords bytes, shared by all readers of the shard."""
    write_bytes_per_s: float | None = MIB
    write_records_per_s: float | None = 1000
    get_shard_iterator_per_s: float | None = 5
    list_shards_per_s: float | None = 1000
    """Per stream."""
    subscribe_per_s: float | None = 1
    """SubscribeToShard calls per consumer and shard."""
    push_bytes_per_s: float | None = 2 * MIB
    """Enhanced fan-out, per consumer and shard."""
    calls_per_s: Mapping[str, float] | None = field(default_factory=lambda: dict(CALLS_PER_S))
    """Per account and control operation."""
    records_per_read: int = 10_000
    bytes_per_read: int = 10 * MIB
    request_bytes: int | None = 10 * MIB
    """Data and partition keys of one PutRecords request."""
    iterator_life_s: float | None = 300
    token_life_s: float | None = 300
    """A ``NextToken`` of ListShards or ListStreamConsumers."""
    subscription_life_s: float | None = 300
    resubscribe_s: float | None = 5
    """A second SubscribeToShard this soon after a successful one is ``ResourceInUseException``."""
    consumers_per_stream: int | None = 20
    creating_consumers: int | None = 5
    """Consumers of an account in status CREATING at once."""
    creating_streams: int | None = 5
    shards_per_account: int | None = 20_000
    """Open shards; the default quota of us-east-1."""
    scalings_per_day: int | None = 10
    """UpdateShardCount calls per stream in 24 hours, and at most double or half each time."""
    tags_per_resource: int | None = 50
    memory_bytes: int | None = 1024 * MIB
    """Ours, not the service's: payload bytes held by all streams together."""

    @classmethod
    def unlimited(cls) -> Limits:
        """No rate is enforced and no count but that of shards, which bounds the memory; sizes and
        lives stay."""
        return cls(
            get_records_per_s=None,
            read_bytes_per_s=None,
            write_bytes_per_s=None,
            write_records_per_s=None,
            get_shard_iterator_per_s=None,
            list_shards_per_s=None,
            subscribe_per_s=None,
            push_bytes_per_s=None,
            calls_per_s=None,
            consumers_per_stream=None,
            creating_consumers=None,
            creating_streams=None,
            scalings_per_day=None,
            tags_per_resource=None,
        )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (int, float)) and value <= 0:
                raise ValueError(f"{each.name} must be above 0, or None for no limit: {value}")
        for operation, rate in (self.calls_per_s or {}).items():
            if not rate > 0:
                raise ValueError(f"calls_per_s of {operation} must be above 0: {rate}")
