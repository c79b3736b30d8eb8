"""Everything that ``shardlane stuck`` knows about one mapping before it decides."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.operations.activity import Activity
from shardlane.operations.log_lines import Failing, Logged
from shardlane.operations.mapping import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFacts:
    """``None`` is what could not be read."""

    timeout_s: int | None = None
    state: str | None = None
    reserved_concurrency: int | None = None
    log_group: str | None = None
    parking_table: str | None = None
    """With ``parking_consumer``: the lot that the function's environment names."""
    parking_consumer: str | None = None
    mappings: int = 1
    """How many of the mappings looked at call it: its log and metrics do not tell them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    name: str
    status: str = "ACTIVE"
    retention_hours: int = 24
    shard_ids: tuple[str, ...] = ()
    closed_shard_ids: tuple[str, ...] = ()
    standard_mappings: int = 1
    """Mappings on the stream itself, which share each shard's five reads a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A record at which a mapping stands, as the stream has it."""

    shard_id: str
    sequence_number: str
    key: str
    arrival_ms: int
    size_bytes: int
    failing: Failing | None = None
    """What the log says about it; None if it was found by its age alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    mapping: Mapping
    function: FunctionFacts
    stream: StreamFacts
    activity: Activity
    logged: Logged
    held: tuple[Held, ...] = ()
    expired: tuple[Failing, ...] = ()
    """Records that the log names and that are in no shard any more, or could not be looked up."""
    standing_since_ms: int | None = None
    """Since when the iterator age has grown by a second a second, if it does."""
    waiting: int | None = None
    """Messages at the on-failure destination, if that could be read."""
    quarantined: int | None = None
    """Keys in the parking lot that the function's environment names, if there is one."""
    unread: tuple[str, ...] = ()
    """What could not be read, each with its reason."""
    window_ms: int = 3_600_000
