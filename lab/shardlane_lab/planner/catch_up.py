"""How long consumers need after an outage: arithmetic on limits and handlers, no simulation."""

from __future__ import annotations

from shardlane_lab.planner.limits import READ_BYTES_PER_S, READS_PER_S
from shardlane_lab.planner.option import Group, Option
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import Sizing
from shardlane_lab.simulator.reader import MappingParameters

RECORDS_PER_CALL = 10_000
BYTES_PER_CALL = 10.0 * 1024.0 * 1024.0


def catch_up_minutes(
    question: Question, sizing: Sizing, option: Option, group: Group, overhead_ms: float
) -> float | None:
    """Until the busiest shard's backlog is gone, everybody having stood still for the outage;
    None if it never is. ``overhead_ms``: of an invocation, apart from its records."""
    spare = drain_per_s(question, sizing, option, group, overhead_ms) - sizing.rate_per_s
    if question.outage_minutes == 0:
        return 0.0
    if spare <= 0:
        return None
    return sizing.rate_per_s * question.outage_minutes / spare


def drain_per_s(
    question: Question, sizing: Sizing, option: Option, group: Group, overhead_ms: float
) -> float:
    """Records per second that one consumer of the group gets through on the busiest shard."""
    return min(
        _read_per_s(question, option, group), _handled_per_s(question, sizing, group, overhead_ms)
    )


def _read_per_s(question: Question, option: Option, group: Group) -> float:
    if group.fans_out:
        return READ_BYTES_PER_S / question.record_bytes
    sharing = max(1, option.shared_consumers)
    by_bytes = READ_BYTES_PER_S / question.record_bytes / sharing
    per_call = min(RECORDS_PER_CALL, max(1.0, BYTES_PER_CALL // question.record_bytes))
    calls = READS_PER_S / sharing
    if not group.is_mapping:
        calls = min(calls, 1000.0 / max(group.interval_ms, 1.0))
    return min(by_bytes, calls * per_call)


def _handled_per_s(question: Question, sizing: Sizing, group: Group, overhead_ms: float) -> float:
    if not group.is_mapping:
        if not group.handler_ms:
            return float("inf")
        return min(group.lanes, sizing.busiest_keys) * 1000.0 / group.handler_ms
    batch = MappingParameters(batch_size=group.batch_size).records_per_batch(question.record_bytes)
    return group.lanes * batch * 1000.0 / (overhead_ms + batch * group.handler_ms)
