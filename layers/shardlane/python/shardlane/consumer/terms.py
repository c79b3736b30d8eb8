"""The times of the lease protocol, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """All instances that share leases must agree on ``ttl_s``. Seconds on a monotonic clock."""

    ttl_s: float = 10.0
    """A lease whose counter stands still for this long may be taken: the client library's
    ``failoverTimeMillis``."""
    margin_s: float = 1.0
    """How long before that its owner stops starting handlers: room for a started call to be on
    its way, and for clocks that run at slightly different speeds."""
    answer_s: float = 1.0
    """When a write counts as unknown; it is repeated then."""
    scan_s: float = 1.0
    """Between two scans of the table, ± 20 %; twice that above ``many_leases``."""
    many_leases: int = 500
    checkpoint_s: float = 1.0
    """Between two checkpoints of a shard, at least."""
    listing_s: float = 60.0
    """Between two ListShards, ± 20 %."""
    drain_s: float = 30.0
    """For running handlers to end at a hand-over or a stop."""

    def __post_init__(self) -> None:
        if self.margin_s < 1.0:
            raise SettingsError(f"margin_s={self.margin_s}: allowed is 1 or more")
        if self.ttl_s < 3.0:
            raise SettingsError(f"ttl_s={self.ttl_s}: allowed is 3 or more")
        if self.drain_s < 0:
            raise SettingsError(f"drain_s={self.drain_s}: allowed is 0 or more")

    @property
    def renewal_s(self) -> float:
        """Between two renewals of a lease whose checkpoint does not move."""
        return self.ttl_s / 3
