"""How one shard's reader is doing: the numbers of its last answer, and when that was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ShardGauge:
    """Monotonic seconds."""

    answered_s: float
    """When the last answer came; before the first one, when reading began."""
    behind_ms: int = 0
    """``MillisBehindLatest`` of the last answer; it ages while none comes (see ``lag_ms``)."""

    def answered(self, now_s: float, behind_ms: int) -> None:
        self.answered_s = now_s
        self.behind_ms = behind_ms

    def read_lag_ms(self, now_s: float, patience_s: float) -> float:
        """How far the reader is behind, at least: what the last answer said, and its age as soon
        as that is more than ``patience_s`` (reads fail, or back-pressure holds them up)."""
        age_s = now_s - self.answered_s
        return self.behind_ms + (age_s * 1000 if age_s > patience_s else 0.0)
