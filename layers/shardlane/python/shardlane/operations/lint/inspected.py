"""What the rules look at, wherever it comes from: a template or an account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

KB = 1024
RECORD_BYTES = 1 * KB
"""Taken for the size of a record's data when nobody says it and no metric does."""


class Unknown(Enum):
    """A value that only the deployment knows: a parameter without a default, a condition."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedMapping:
    """An event source mapping on Kinesis. ``None`` is what is not set."""

    where: str
    """Its logical id, or its UUID in an account."""
    source: str
    """Equal for mappings on the same stream or consumer."""
    fan_out: bool = False
    retries: int | Unknown | None = None
    age_s: int | Unknown | None = None
    on_failure: bool | Unknown = False
    partial: bool | Unknown = False
    """Whether ``ReportBatchItemFailures`` is on."""
    batch_size: int | Unknown = 100
    starting_position: str | Unknown | None = None
    filters: tuple[Any, ...] = ()
    """``Pattern`` of each filter: a string, None if there is none, or what was there instead."""
    ignored: tuple[str, ...] = ()
    """Settings that do not apply to Kinesis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedAlarm:
    where: str
    namespace: str
    metric: str
    has_dimensions: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedConsumer:
    """A registered stream consumer of a template."""

    where: str
    has_tags: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    mappings: tuple[InspectedMapping, ...] = ()
    alarms: tuple[InspectedAlarm, ...] = ()
    consumers: tuple[InspectedConsumer, ...] = ()
    record_bytes: int = RECORD_BYTES
    record_bytes_from: str = field(default="assumed; --record-bytes says it")
    other_readers: int = 0
    """Polling readers of each stream that are no mapping, at a read a second each."""
    acknowledged: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By logical id: findings that are as they should be, rule → reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One sentence each."""

    rule: str
    where: str
    problem: str
    reason: str
    fix: str
    acknowledged: str | None = None
    """Why it is as it should be, as the template says; ``None`` for what somebody should look at.
    """
