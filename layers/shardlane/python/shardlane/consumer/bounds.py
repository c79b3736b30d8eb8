"""How much a subscription may hold in memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

from shardlane.errors import SettingsError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Back-pressure blocks at these; nothing is ever dropped because of one."""

    channel_records: int = 64
    """Deliveries that have not started, of all shards together: enough to keep lanes busy, few
    enough that what a stop gives back is little."""
    channel_bytes: int = 64 * MIB
    """Their payload; one delivery is always admitted, however large."""
    unsettled_records: int = 10_000
    """Per shard: set aside, running, or settled beyond the watermark. Then its reader waits."""
    unsettled_bytes: int = 64 * MIB
    """Per shard: payload of what is set aside, waiting or running."""
    read_ahead_records: int = 500
    """Per shard: a reader asks for more when fewer than these are left of what it has read, so
    that a read and the handlers overlap."""
    read_ahead_bytes: int = 64 * MIB
    """Of all shards together: while what was read and not yet admitted is more, no reader asks
    for more. (One answer of GetRecords may have 10 MiB.)"""

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) < 1:
                raise SettingsError(f"{each.name}={getattr(self, each.name)}: allowed is 1 or more")
