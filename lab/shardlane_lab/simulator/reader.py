"""Who reads a stream, and what it does with a record: the model's input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shardlane_lab.experiment import MAPPING_KINDS
from shardlane_lab.run_record import Kind

MAX_EVENT_BYTES = 6 * 1024 * 1024
"""Of one invocation's event (Lambda quotas: invocation payload, synchronous)."""
ENVELOPE_BYTES = 564
"""Of a record in the event, beside its data in base64."""

Spread = Literal["fixed", "exponential"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What the user's code takes."""

    per_record_ms: float = 0.0
    spread: Spread = "fixed"
    """``exponential``: mean ``per_record_ms``, for checks against queueing theory."""
    workers: int = 1
    """Records handled at once in one batch (Lambda) or in one process (boto3), by key."""

    def __post_init__(self) -> None:
        if self.per_record_ms < 0:
            raise ValueError(f"per_record_ms must not be negative: {self.per_record_ms}")
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1: {self.workers}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingParameters:
    """Of an event source mapping; ranges as in ``CreateEventSourceMapping`` (Lambda API)."""

    batch_size: int = 100
    window_ms: float = 0.0
    parallelization: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= 10_000:
            raise ValueError(f"batch_size is {self.batch_size}; allowed is 1 to 10000")
        if not 0 <= self.window_ms <= 300_000:
            raise ValueError(f"window_ms is {self.window_ms}; allowed is 0 to 300000")
        if not 1 <= self.parallelization <= 10:
            raise ValueError(f"parallelization is {self.parallelization}; allowed is 1 to 10")

    def records_per_batch(self, record_bytes: int) -> int:
        """The batch size, or what 6 MB of event hold if that is less; at least 1."""
        in_event = -(-record_bytes // 3) * 4 + ENVELOPE_BYTES
        return max(1, min(self.batch_size, MAX_EVENT_BYTES // in_event))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One consumer of every shard of the stream."""

    label: str
    kind: Kind
    interval_ms: float = 200.0
    """``boto3-get-records`` only: the pause after each call."""
    handling: Handling = field(default_factory=Handling)
    mapping: MappingParameters = field(default_factory=MappingParameters)
    """Lambda kinds only."""

    @property
    def shares_reads(self) -> bool:
        """Whether it uses the shard's five GetRecords calls a second."""
        return self.kind in ("boto3-get-records", "lambda-standard")

    @property
    def is_mapping(self) -> bool:
        return self.kind in MAPPING_KINDS
