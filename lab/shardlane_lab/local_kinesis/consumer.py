"""A registered stream consumer (enhanced fan-out)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shardlane_lab.local_kinesis.limiter import Limiter

if TYPE_CHECKING:
    from shardlane_lab.local_kinesis.subscription import Subscription


@dataclass(slots=True)
class ShardAccess:
    """What a consumer did on one shard: its calls, its bytes, its current subscription."""

    calls: Limiter
    push_bytes: Limiter
    subscribed_ms: float = float("-inf")
    """When it last subscribed with success."""
    subscription: Subscription | None = None


@dataclass(slots=True)
class StreamConsumer:
    name: str
    arn: str
    created_ms: float
    active_ms: float
    """From when on it is ACTIVE."""
    tags: dict[str, str] = field(default_factory=dict)
    deleted_ms: float | None = None
    """From when on a consumer that is being deleted is gone."""
    access: dict[int, ShardAccess] = field(default_factory=dict)
    """By shard number."""

    def status(self, now_ms: float) -> str:
        if self.deleted_ms is not None:
            return "DELETING"
        return "ACTIVE" if now_ms >= self.active_ms else "CREATING"

    def gone(self, now_ms: float) -> bool:
        return self.deleted_ms is not None and self.deleted_ms <= now_ms

    def as_dict(self, now_ms: float) -> dict[str, Any]:
        return {
            "ConsumerName": self.name,
            "ConsumerARN": self.arn,
            "ConsumerStatus": self.status(now_ms),
            "ConsumerCreationTimestamp": int(self.created_ms) / 1000.0,
        }
