"""How long to wait before the next attempt: exponential with full jitter, as pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between attempts on one record, in milliseconds.

    Full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): a wait is drawn evenly
    between 0 and the bound, so that retries of many sandboxes do not arrive together.
    """

    first_ms: float = 100.0
    """Bound of the first wait: a short hiccup of a dependency is over by then."""
    factor: float = 2.0
    most_ms: float = 5_000.0
    """Bound of every wait: a shard waits behind this record."""

    def __post_init__(self) -> None:
        if self.first_ms < 0 or self.most_ms < self.first_ms:
            raise SettingsError(
                f"Backoff(first_ms={self.first_ms}, most_ms={self.most_ms}): "
                "allowed is 0 <= first_ms <= most_ms"
            )
        if self.factor < 1:
            raise SettingsError(f"Backoff(factor={self.factor}): allowed is 1 or more")

    def bound_ms(self, failures: int) -> float:
        """The longest wait after ``failures`` failed attempts (1, 2, …)."""
        # The exponent is capped so that no number of attempts overflows a float.
        return min(self.most_ms, self.first_ms * self.factor ** min(failures - 1, 64))

    def wait_ms(self, failures: int, draw: float) -> float:
        """The wait after ``failures`` failed attempts; ``draw`` is random in [0, 1)."""
        return self.bound_ms(failures) * draw
