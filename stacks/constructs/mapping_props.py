"""The parameters of an event source mapping on Kinesis, checked before anything is built."""

from __future__ import annotations

from dataclasses import dataclass

from .policy import ENDLESS_AGE_S, Policy, max_record_age_s, retry_attempts

POSITIONS = ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP")
_RANGES = {
    "batch_size": (1, 10_000),
    "batching_window_s": (0, 300),
    "parallelization_factor": (1, 10),
}
MOST_RETRIES = 10_000
AGES_S = (60, 604_800)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingProps:
    """Ranges: Lambda API, CreateEventSourceMapping. Raises ``ValueError`` naming the parameter."""

    policy: Policy = Policy.PARK
    batch_size: int = 100
    """Records in a batch, at most."""
    batching_window_s: int = 0
    """How long a batch may wait to fill."""
    parallelization_factor: int = 1
    """Concurrent batches of one shard; a partition key is in one of them at a time."""
    starting_position: str = "TRIM_HORIZON"
    """``LATEST``, ``TRIM_HORIZON`` or ``AT_TIMESTAMP``. Another value replaces the mapping, which
    then forgets its place."""
    starting_timestamp_s: int | None = None
    """Epoch seconds, with ``AT_TIMESTAMP``; another value replaces the mapping too."""
    retry_attempts: int | None = None
    """``None``: what goes with the policy."""
    max_record_age_s: int | None = None
    """``None``: what goes with the policy."""
    bisect_on_error: bool = True
    """Isolates a record that kills the process, which no policy can set aside."""

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            self._check(name, getattr(self, name), low, high)
        if self.starting_position not in POSITIONS:
            raise ValueError(
                f"starting_position is {self.starting_position!r}; allowed: {', '.join(POSITIONS)}"
            )
        if (self.starting_position == "AT_TIMESTAMP") != (self.starting_timestamp_s is not None):
            raise ValueError(
                f"starting_timestamp_s is {self.starting_timestamp_s!r} with starting_position "
                f"{self.starting_position!r}; allowed: a time with AT_TIMESTAMP, and only there"
            )
        self._check_endurance()

    def _check_endurance(self) -> None:
        if self.policy is Policy.PARK:
            if self.max_record_age_s not in (None, ENDLESS_AGE_S):
                raise ValueError(
                    f"max_record_age_s is {self.max_record_age_s} with policy park; allowed: "
                    "-1 (endless), because an age throws away a backlog that nobody has tried"
                )
            least = retry_attempts(self.policy, self.batch_size)
            if self.retry_attempts is not None:
                self._check("retry_attempts", self.retry_attempts, least, MOST_RETRIES)
            return
        # Endless ones are not allowed: a record that always fails would hold up its shard until
        # retention deletes what is behind it.
        if self.retry_attempts is not None:
            self._check("retry_attempts", self.retry_attempts, 0, MOST_RETRIES)
        if self.max_record_age_s is not None:
            self._check("max_record_age_s", self.max_record_age_s, *AGES_S)

    def _check(self, name: str, value: int, low: int, high: int) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(
                f"{name} is {value!r} with policy {self.policy}; "
                f"allowed: a whole number from {low} to {high}"
            )

    @property
    def retries(self) -> int:
        if self.retry_attempts is not None:
            return self.retry_attempts
        return retry_attempts(self.policy, self.batch_size)

    @property
    def age_s(self) -> int:
        """-1 is endless."""
        if self.max_record_age_s is not None:
            return self.max_record_age_s
        return max_record_age_s(self.policy)
