"""What a mapping's settings will do with a batch that keeps failing, and when data is lost to
retention. Pure (source: "How Lambda processes records from Amazon Kinesis Data Streams", Lambda
developer guide)."""

from __future__ import annotations

from dataclasses import dataclass

from shardlane.operations.mapping import INFINITE, Mapping

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What happens if nobody does anything."""

    lines: tuple[str, ...]
    """In order, each one sentence."""
    lost_ms: int | None
    """From when on records expire unread, in epoch milliseconds; None if the mapping gives the
    batch up before that, or the arrival is not known."""
    gives_up_ms: int | None
    """When the age limit ends it, if there is one."""


def prospect(mapping: Mapping, arrival_ms: float | None, retention_hours: int) -> Prospect:
    """``arrival_ms``: of the record at which the mapping stands, if that is known."""
    expires_ms = _after(arrival_ms, retention_hours * HOUR_MS)
    gives_up_ms = _after(arrival_ms, mapping.age_s * 1000) if mapping.age_s != INFINITE else None
    endless = mapping.retries == INFINITE and mapping.age_s == INFINITE
    ends_by_age = gives_up_ms is not None and (expires_ms is None or gives_up_ms < expires_ms)
    lost_ms = None if ends_by_age or (not endless and mapping.retries != INFINITE) else expires_ms
    lines = [_retries(mapping), *_bisects(mapping), _end(mapping, retention_hours, endless)]
    return Prospect(lines=tuple(lines), lost_ms=lost_ms, gives_up_ms=gives_up_ms)


def _after(arrival_ms: float | None, wait_ms: int) -> int | None:
    return None if arrival_ms is None else round(arrival_ms) + wait_ms


def _retries(mapping: Mapping) -> str:
    what = "from the reported record on" if mapping.partial else "the whole batch"
    match (mapping.retries, mapping.age_s):
        case (-1, -1):
            return f"Lambda retries {what} without end: neither retries nor age are bounded."
        case (retries, -1):
            return f"Lambda retries {what} up to {retries} times."
        case (-1, age_s):
            return f"Lambda retries {what} until a record is {age_s} s old."
        case (retries, age_s):
            return (
                f"Lambda retries {what} up to {retries} times or until a record is {age_s} s old."
            )
    raise AssertionError


def _bisects(mapping: Mapping) -> tuple[str, ...]:
    if not mapping.bisect:
        return ()
    where = "at the reported record" if mapping.partial else "in halves"
    return (f"A batch that fails is split {where}, which uses up no retry.",)


def _end(mapping: Mapping, retention_hours: int, endless: bool) -> str:
    if endless:
        return (
            f"The shard waits until the records expire, {retention_hours} h after their arrival; "
            "those that expire are lost without a message."
        )
    if mapping.on_failure is None:
        return "Then the batch is dropped without a message: there is no on-failure destination."
    if ":s3:::" in mapping.on_failure:
        return (
            f"Then the batch goes to {mapping.on_failure}, with its payload, and reading goes on."
        )
    return (
        f"Then a message about the batch goes to {mapping.on_failure}, without its payload, and "
        "reading goes on; the records can be read again while retention lasts."
    )
