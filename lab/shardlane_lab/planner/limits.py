"""Limits of the services that make an option impossible, or cost it something. Pure arithmetic.

Sources: "Quotas and limits" and "Develop enhanced fan-out consumers" (Kinesis Data Streams
Developer Guide), "Lambda quotas" (Lambda Developer Guide).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardlane_lab.planner.option import Group, Mode, Option
from shardlane_lab.planner.question import Question
from shardlane_lab.planner.sizing import WRITE_BYTES_PER_S, Sizing
from shardlane_lab.simulator.reader import ENVELOPE_BYTES, MAX_EVENT_BYTES

READS_PER_S = 5.0
READ_BYTES_PER_S = 2.0 * 1024.0 * 1024.0
"""Of one shard, shared by all who call GetRecords."""
STANDARD_POLLS_PER_S = 1.0
"""The base rate of a standard mapping, a shard."""
FAN_OUT_CONSUMERS: dict[Mode, int] = {"provisioned": 20, "on-demand": 20, "advantage": 50}
"""Registered consumers of a stream."""


def calls_per_s(group: Group) -> float:
    """GetRecords calls that the group asks one shard for."""
    if group.fans_out:
        return 0.0
    if group.is_mapping:
        return group.count * STANDARD_POLLS_PER_S
    return group.count * 1000.0 / (group.interval_ms + ROUND_TRIP_MS)


ROUND_TRIP_MS = 5.5
"""Of a GetRecords call, in the published measurement."""


def handler_utilisation(group: Group, sizing: Sizing) -> float:
    """How busy the group's lanes on the busiest shard are; 1 is all the time."""
    return sizing.rate_per_s * group.handler_ms / 1000.0 / group.lanes


def read_utilisation(option: Option, sizing: Sizing) -> tuple[float, float]:
    """Calls and bytes asked of the busiest shard by those who share its reads, over the limit."""
    calls = sum(calls_per_s(group) for group in option.groups) / READS_PER_S
    return calls, option.shared_consumers * sizing.bytes_per_s / READ_BYTES_PER_S


def blockers(question: Question, sizing: Sizing, option: Option) -> list[str]:
    """Why the option cannot work, in sentences; none if it can."""
    return [
        *_writing(sizing),
        *_consumers(option),
        *_reading(sizing, option),
        *(found for group in option.groups for found in _handling(question, sizing, group)),
    ]


def _writing(sizing: Sizing) -> Iterator[str]:
    if sizing.write_utilisation > 1:
        yield (
            f"the busiest of {sizing.shards} shards gets {sizing.rate_per_s:,.0f} records/s and "
            f"{sizing.bytes_per_s / WRITE_BYTES_PER_S:.2f} MiB/s; it takes 1,000 and 1"
        )


def _consumers(option: Option) -> Iterator[str]:
    most = FAN_OUT_CONSUMERS[option.mode]
    if option.fan_out_consumers > most:
        yield (
            f"{option.fan_out_consumers} EFO consumers; a stream in {option.mode} mode has at "
            f"most {most}"
        )


def _reading(sizing: Sizing, option: Option) -> Iterator[str]:
    mappings = sum(group.count for group in option.groups if group.kind == "lambda-standard")
    if mappings * STANDARD_POLLS_PER_S > READS_PER_S:
        yield (
            f"{mappings} standard mappings poll a shard {mappings} times a second; its 5 reads/s "
            "are shared"
        )
    _, bytes_part = read_utilisation(option, sizing)
    if bytes_part > 1:
        yield (
            f"{option.shared_consumers} shared readers ask for "
            f"{bytes_part * 2:.1f} MiB/s of a shard; it gives 2 to all of them"
        )


def _handling(question: Question, sizing: Sizing, group: Group) -> Iterator[str]:
    per_key = question.rate_per_s / question.keys * question.handler_ms / 1000.0
    if per_key >= 1:
        yield (
            f"a key gets {question.rate_per_s / question.keys:.2g} records/s of "
            f"{question.handler_ms:,.0f} ms each, one after the other: its handler never catches up"
        )
    elif handler_utilisation(group, sizing) >= 1:
        lanes = (
            f"ParallelizationFactor {group.lanes}"
            if group.is_mapping
            else (f"{group.lanes} workers")
        )
        yield (
            f"{sizing.rate_per_s:,.1f} records/s × {group.handler_ms:,.0f} ms keep "
            f"{sizing.rate_per_s * group.handler_ms / 1000:.1f} handlers of a shard busy; "
            f"{lanes} is the most here: take more shards"
        )
    event_bytes = -(-question.record_bytes // 3) * 4 + ENVELOPE_BYTES
    if group.is_mapping and event_bytes > MAX_EVENT_BYTES:
        yield (
            f"a record of {question.record_bytes:,} bytes makes an event of "
            f"{event_bytes / 1024 / 1024:.1f} MB; Lambda takes 6"
        )
