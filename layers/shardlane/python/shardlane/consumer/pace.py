"""When a poll may go out. Pure arithmetic on one clock, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from shardlane.backoff import Backoff
from shardlane.errors import SettingsError

READS_PER_S = 5.0
"""GetRecords calls a shard grants each second, to all its readers together (GetRecords, API
Reference)."""
BYTES_PER_S = 2 * 1024 * 1024
"""Bytes a shard returns each second, to all its readers together."""

_LEAST_AT_TIP_S = 1.02 / READS_PER_S
"""Whoever takes every one of a shard's reads on the dot starves all others: they find its bucket
empty for ever. A fiftieth left over lets one in within ten seconds, and then ours is refused."""
_TOGETHER_FROM_S = 1.0
_MOMENTS = 50
"""In which an interval of a second or more is divided: readers whose turns come close together
read together, which costs hundreds of them a quarter less than one wake-up each."""
_JITTER = 0.2
_CROWDED_S = 60.0
"""For so long after a refusal a reader leaves more to the others that it must have."""
_BACKOFF = Backoff(first_ms=200.0, factor=2.0, most_ms=5_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """A reader's share of a shard, and how it behaves when it is refused."""

    interval_s: float = 0.2
    """Between two reads at the tip of the shard, start to start; never under 204 ms there, and from
    a second on up to a fiftieth more. Up to a fifth more, by lot, for a minute after a refusal:
    others read the shard, too."""
    reads_per_s: float = READS_PER_S
    """This reader's share of the shard's reads; it goes that fast while it is behind."""
    bytes_per_s: float = BYTES_PER_S
    """Its share of the bytes: after a large answer it waits until they are paid for."""
    backoff: Backoff = _BACKOFF
    """Between refused reads, with full jitter."""

    def __post_init__(self) -> None:
        if not 0 < self.reads_per_s <= READS_PER_S:
            raise SettingsError(
                f"reads_per_s={self.reads_per_s}: allowed is more than 0, at most {READS_PER_S:g}"
            )
        if self.interval_s < 0:
            raise SettingsError(f"interval_s={self.interval_s}: allowed is 0 or more")
        if self.bytes_per_s <= 0:
            raise SettingsError(f"bytes_per_s={self.bytes_per_s}: allowed is more than 0")


class Pace:
    """Says when the next read may start.

    Two reads are never closer than the share allows, so no second has more of them than that.
    The first wait at the tip is up to twice as long, by lot: readers that start together would
    all read at the same moments for ever.
    """

    __slots__ = ("_crowded_until_s", "_failures", "_last_s", "_pacing", "_spread", "due_s")

    def __init__(self, pacing: Pacing) -> None:
        self._pacing = pacing
        self._last_s = float("-inf")
        self._failures = 0
        self._spread = 1.0
        """Of the next wait at the tip, how much longer it is at most."""
        self._crowded_until_s = float("-inf")
        self.due_s = float("-inf")
        """When the next read may start."""

    def started(self, now_s: float) -> None:
        self._last_s = now_s
        self.due_s = now_s + 1 / self._pacing.reads_per_s

    def answered(self, size_bytes: int, draw: float, *, at_tip: bool) -> None:
        """An answer of that size came; ``at_tip`` if there was nothing more to read. ``draw`` is
        random in [0, 1)."""
        self._failures = 0
        pacing = self._pacing
        wait_s = max(1 / pacing.reads_per_s, size_bytes / pacing.bytes_per_s)
        if at_tip:
            wait_s = max(wait_s, pacing.interval_s, _LEAST_AT_TIP_S) * (1 + self._spread * draw)
            self._spread = _JITTER if self._last_s < self._crowded_until_s else 0.0
        self.due_s = self._last_s + wait_s
        if at_tip and pacing.interval_s >= _TOGETHER_FROM_S:
            moment_s = pacing.interval_s / _MOMENTS
            self.due_s = ceil(self.due_s / moment_s) * moment_s

    def refused(self, now_s: float, draw: float) -> None:
        """No answer; ``draw`` is random in [0, 1)."""
        self._failures += 1
        self._spread = max(self._spread, _JITTER)
        self._crowded_until_s = now_s + _CROWDED_S
        wait_s = self._pacing.backoff.wait_ms(self._failures, draw) / 1000
        self.due_s = max(self.due_s, now_s + wait_s)
