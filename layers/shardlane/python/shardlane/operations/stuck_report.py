"""Findings as text for a person and as JSON for a program. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from shardlane.operations.advice import advice
from shardlane.operations.diagnosis import Block, Finding
from shardlane.operations.prospects import Prospect
from shardlane.operations.wording import bytes_text, duration, moment, shown_key


def text(findings: Sequence[Finding], now_ms: float, *, keys: bool) -> str:
    """One paragraph a mapping, those of a stream under its name."""
    if not findings:
        return "no event source mapping was found"
    lines: list[str] = []
    for stream, group in groupby(findings, key=lambda each: each.facts.mapping.stream):
        lines.append(stream)
        for finding in group:
            lines += [f"  {line}" for line in _paragraph(finding, now_ms, keys)]
    return "\n".join(lines)


def _paragraph(finding: Finding, now_ms: float, keys: bool) -> Iterator[str]:
    mapping = finding.facts.mapping
    kind = "standard" if mapping.consumer is None else f"EFO consumer {mapping.consumer}"
    yield f"{mapping.function}  {finding.status.value.upper()}{_late(finding, now_ms)}"
    yield f"  mapping {mapping.uuid} ({kind})"
    for block in finding.blocks:
        yield from (f"  {line}" for line in _blocked(block, now_ms, keys))
    if finding.prospect is not None:
        yield "  at a record that was not found in the stream; it is among the oldest unread ones"
        yield from (f"  next: {line}" for line in finding.prospect.lines)
    yield from (f"  note: {note}" for note in finding.notes)
    yield from (f"  do:   {line}" for line in advice(finding))
    yield from (f"  not read: {reason}" for reason in finding.facts.unread)


def _late(finding: Finding, now_ms: float) -> str:
    late = finding.lateness
    if late is None:
        return "  (no fresh lag metric)"
    ago = duration(now_ms - late.measured_ms)
    return f"  {duration(late.late_ms)} late ({late.metric} of {ago} ago)"


def _blocked(block: Block, now_ms: float, keys: bool) -> Iterator[str]:
    held, failing = block.held, block.held.failing
    yield (
        f"at {held.shard_id} {held.sequence_number}, key {shown_key(held.key, in_clear=keys)}, "
        f"{bytes_text(held.size_bytes)}, arrived {moment(held.arrival_ms)}"
    )
    standing = f"since {moment(block.since_ms)} ({duration(now_ms - block.since_ms)})"
    if failing is None:
        yield (
            f"  {standing}; inferred from the iterator age: the first record of a batch in which "
            "any may be the one that fails"
        )
    else:
        attempts = f", at least {failing.attempts} attempts" if failing.attempts else ""
        yield f"  {standing}, {failing.invocations} invocations{attempts}: {failing.reason}"
    yield from _next(block.prospect, now_ms)


def _next(prospect: Prospect, now_ms: float) -> Iterator[str]:
    for line in prospect.lines:
        yield f"  next: {line}"
    if prospect.gives_up_ms is not None:
        yield f"  given up by age: {_when(prospect.gives_up_ms, now_ms)}"
    if prospect.lost_ms is not None:
        yield f"  lost to retention: {_when(prospect.lost_ms, now_ms)}"


def _when(at_ms: float, now_ms: float) -> str:
    left_ms = at_ms - now_ms
    return f"{moment(at_ms)} ({f'in {duration(left_ms)}' if left_ms > 0 else 'now'})"


def as_json(findings: Sequence[Finding], *, keys: bool) -> list[dict[str, Any]]:
    return [_finding(each, keys) for each in findings]


def _finding(finding: Finding, keys: bool) -> dict[str, Any]:
    mapping, late = finding.facts.mapping, finding.lateness
    return {
        "stream": mapping.stream,
        "function": mapping.function,
        "mapping": mapping.uuid,
        "consumer": mapping.consumer,
        "status": finding.status.value,
        "stuck": finding.status.is_stuck,
        "late_ms": late and late.late_ms,
        "late_metric": late and late.metric,
        "late_measured_ms": late and late.measured_ms,
        "standing_since_ms": finding.facts.standing_since_ms,
        "blocks": [_block(each, keys) for each in finding.blocks],
        "notes": list(finding.notes),
        "advice": list(advice(finding)),
        "not_read": list(finding.facts.unread),
    }


def _block(block: Block, keys: bool) -> dict[str, Any]:
    held, failing = block.held, block.held.failing
    return {
        "shard_id": held.shard_id,
        "sequence_number": held.sequence_number,
        "key": shown_key(held.key, in_clear=keys),
        "arrival_ms": held.arrival_ms,
        "size_bytes": held.size_bytes,
        "since_ms": block.since_ms,
        "certain": block.certain,
        "invocations": failing and failing.invocations,
        "attempts": failing and failing.attempts,
        "reason": failing and failing.reason,
        "next": list(block.prospect.lines),
        "gives_up_ms": block.prospect.gives_up_ms,
        "lost_ms": block.prospect.lost_ms,
    }
