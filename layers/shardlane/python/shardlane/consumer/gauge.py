"""How one shard's reader is doing: the numbers of its last answer, and when that was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ShardGauge:
    """Monotonic seconds; None before the first answer."""

    answered_s: float | None = None
    behind_ms: int = 0
    """``MillisBehindLatest`` of the last answer; it ages while none comes (see ``lag_ms``)."""
    caught_up: bool = False
    """Whether the reader has been at the tip once."""

    def answered(self, now_s: float, behind_ms: int) -> None:
        self.answered_s = now_s
        self.behind_ms = behind_ms
        self.caught_up = self.caught_up or behind_ms == 0

    def read_lag_ms(self, now_s: float, patience_s: float) -> float:
        """How far the reader is behind, at least: what the last answer said, and its age as soon
        as that is more than ``patience_s`` (reads fail, or back-pressure holds them up)."""
        if self.answered_s is None:
            return 0.0
        age_s = now_s - self.answered_s
        return self.behind_ms + (age_s * 1000 if age_s > patience_s else 0.0)
