"""What becomes of a batch: pure decisions, before and after an invocation.

Sources: "How Lambda processes records from stream and queue-based event sources" and "Retain
discarded records", Lambda Developer Guide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from shardlane_lab.local_lambda.batch import Batch
from shardlane_lab.local_lambda.batch_response import Failed, FailedFrom, Handled, Reading
from shardlane_lab.local_lambda.kinesis_record import Record
from shardlane_lab.local_lambda.mapping_config import INFINITE, MappingConfig

Condition = Literal["RetryAttemptsExhausted", "RecordAgeExceeded"]


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that the mapping stops trying; they go to the on-failure destination."""

    batch: Batch
    condition: Condition


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to a batch, in the order of its records."""

    handled: tuple[Record, ...] = ()
    given_up: GivenUp | None = None
    todo: tuple[Batch, ...] = ()
    """What to invoke next, one after the other, before anything newer."""
    pause_s: float = 0.0
    """Before the first of ``todo``."""


def after_invoke(batch: Batch, reading: Reading, config: MappingConfig) -> Decision:
    """What follows from the answer; ``batch.invokes`` counts the invocation already."""
    match reading:
        case Handled():
            return Decision(handled=batch.records)
        case FailedFrom(index) if index > 0:
            return _after_progress(batch, index, config)
        case _ if len(batch.records) > 1 and _halved(reading, config):
            return Decision(todo=_halves(batch))
        case _:
            return _retry(batch, config)


def _halved(reading: Reading, config: MappingConfig) -> bool:
    """Whether a failure without progress splits the batch."""
    if not config.bisect_batch_on_function_error:
        return False
    return isinstance(reading, Failed) or config.undocumented.first_reported_is_halved


def _after_progress(batch: Batch, index: int, config: MappingConfig) -> Decision:
    """The checkpoint moves up to the reported record; the rest goes on from there."""
    handled, rest = batch.records[:index], replace(batch, records=batch.records[index:])
    if config.undocumented.progress_restarts_retries:
        return Decision(handled=handled, todo=(Batch(rest.records),))
    if config.bisect_batch_on_function_error and config.undocumented.partial_split_is_free:
        return Decision(handled=handled, todo=(rest,))
    return replace(_retry(rest, config), handled=handled, pause_s=0.0)


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    """Splitting consumes no retry."""
    middle = len(batch.records) // 2
    return (
        replace(batch, records=batch.records[:middle]),
        replace(batch, records=batch.records[middle:]),
    )


def _retry(batch: Batch, config: MappingConfig) -> Decision:
    allowed = config.maximum_retry_attempts
    if allowed != INFINITE and batch.retries >= allowed:
        return Decision(given_up=GivenUp(batch, "RetryAttemptsExhausted"))
    return Decision(
        todo=(replace(batch, retries=batch.retries + 1),),
        pause_s=pause_s(batch.retries, config),
    )


def pause_s(failures_before: int, config: MappingConfig) -> float:
    """Doubling, bounded; AWS names no numbers."""
    rules = config.undocumented
    return min(rules.retry_longest_s, rules.retry_first_s * 2.0 ** min(failures_before, 30))


def after_refusal(batch: Batch, too_large: bool) -> Decision | None:
    """What follows when the service did not take the invocation; ``None``: try it again, which
    consumes no retry. An event that is too large never gets smaller, so it is split, and one
    record that is too large alone is given up."""
    if not too_large:
        return None
    if len(batch.records) > 1:
        return Decision(todo=_halves(batch))
    return Decision(given_up=GivenUp(batch, "RetryAttemptsExhausted"))


def before_invoke(
    batch: Batch, now_ms: float, retention_ms: float, config: MappingConfig
) -> Decision:
    """Gives up what is older than the maximum age, or than the stream keeps records; ``todo`` is
    what may be sent."""
    limit_ms = retention_ms
    if config.maximum_record_age_s != INFINITE:
        limit_ms = min(limit_ms, config.maximum_record_age_s * 1000.0)
    expired = 0
    for record in batch.records:
        if now_ms - record.arrival_ms <= limit_ms:
            break
        expired += 1
    if expired == 0:
        return Decision(todo=(batch,))
    if config.undocumented.age_takes_whole_batch:
        expired = len(batch.records)
    old = replace(batch, records=batch.records[:expired])
    rest = replace(batch, records=batch.records[expired:])
    return Decision(
        given_up=GivenUp(old, "RecordAgeExceeded"), todo=(rest,) if rest.records else ()
    )
