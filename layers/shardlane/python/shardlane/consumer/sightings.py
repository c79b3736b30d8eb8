"""Which leases have expired, by watching their counters on this machine's monotonic clock.

Wall clocks are never compared: a counter that stands still for the time to live says it all.
"""

from __future__ import annotations

from collections.abc import Iterable

from shardlane.consumer.lease import Lease


class Sightings:
    """What the scans of the lease table have shown, and since when."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._first_s: dict[str, tuple[int, float]] = {}
        """Shard → its counter, and when an answer first showed it."""
        self._known_s: dict[str, float] = {}
        self._newest_s = float("-inf")

    def saw(self, rows: Iterable[Lease], arrived_s: float) -> None:
        """A whole scan, and when its answer arrived."""
        before, self._first_s = self._first_s, {}
        self._newest_s = arrived_s
        for row in rows:
            seen = before.get(row.shard_id)
            if seen is None or seen[0] != row.counter:
                seen = (row.counter, arrived_s)
            self._first_s[row.shard_id] = seen
            self._known_s.setdefault(row.shard_id, arrived_s)

    def known_since_s(self, shard_id: str) -> float | None:
        """When a row of this shard was first seen, also if it is gone; None if never."""
        return self._known_s.get(shard_id)

    def is_expired(self, row: Lease) -> bool:
        """Whether the newest scan still showed the counter that it has had for the time to live.

        It is asked of the newest scan and not of the time: an observer that was paused must look
        again before it calls anyone dead.
        """
        seen = self._first_s.get(row.shard_id)
        return (
            seen is not None and seen[0] == row.counter and self._newest_s >= seen[1] + self._ttl_s
        )
