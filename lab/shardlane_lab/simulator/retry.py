"""botocore's standard retry mode for throttled calls, as constants and two small decisions.

Source: ``botocore.retries.standard`` and ``botocore.retries.quota``; a test compares every number
with the installed botocore's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    max_attempts: int = 4
    """Calls in all: ``Config(retries={"max_attempts": 3})`` means three retries."""
    quota: int = 500
    """Tokens of a client at its start and at most."""
    retry_cost: int = 5
    """Tokens of a retry after a throttle; given back if the retried call succeeds."""
    unretried_refund: int = 1
    """Tokens for a call that succeeds at once."""
    backoff_base_s: float = 1.0
    backoff_cap_s: float = 20.0
    backoff_factor: float = 1.0
    """1.0 is botocore; anything else is a calibration."""

    def backoff_ms(self, retry: int, uniform: float) -> float:
        """Before the ``retry``-th retry (from 1); ``uniform`` is drawn from [0, 1)."""
        longest_s: float = min(self.backoff_base_s * 2.0 ** (retry - 1), self.backoff_cap_s)
        return uniform * longest_s * 1000.0 * self.backoff_factor


class RetryingClient:
    """One boto3 client: its quota, and the attempts of the call it is making."""

    __slots__ = ("_attempt", "_ceilings_ms", "_rules", "_uniform", "lowest_quota", "quota")

    def __init__(self, rules: RetryRules, uniform: Callable[[], float]) -> None:
        self._rules = rules
        self._uniform = uniform
        self._attempt = 1
        self._ceilings_ms = [
            rules.backoff_ms(retry, 1.0) for retry in range(1, max(2, rules.max_attempts))
        ]
        self.quota = rules.quota
        self.lowest_quota = rules.quota

    def succeeded(self) -> None:
        """Gives back the last retry's tokens only, however many retries the call took."""
        if self._attempt > 1:
            self._attempt = 1
            self._refund(self._rules.retry_cost)
        elif self.quota < self._rules.quota:
            self._refund(self._rules.unretried_refund)

    def _refund(self, tokens: int) -> None:
        self.quota = min(self.quota + tokens, self._rules.quota)

    def refused(self) -> float | None:
        """The pause before the next attempt in ms; None if the throttle surfaces, because the
        attempts or the quota ran out."""
        attempt = self._attempt
        if attempt >= self._rules.max_attempts or self.quota < self._rules.retry_cost:
            self._attempt = 1
            return None
        self.quota -= self._rules.retry_cost
        self.lowest_quota = min(self.lowest_quota, self.quota)
        self._attempt = attempt + 1
        return self._uniform() * self._ceilings_ms[attempt - 1]
