"""One sentence that says what was found, from the figures alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from shardlane_lab.percentile import Distribution
from shardlane_lab.report.difference import Median, of_kind, overlap
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.wording import duration_text, plural
from shardlane_lab.run_record import Kind

UNCHANGED = 0.05
"""Medians within this part of each other count as the same, however many records say so."""

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def finding(summaries: Sequence[Summary]) -> str:
    """Says nothing that the runs do not show; without samples it says that."""
    clauses = [
        *_fan_out_clauses(summaries),
        *_standard_clauses(summaries),
        *_poller_clauses(summaries),
        *_library_clauses(summaries),
    ]
    if not clauses:
        return "No consumer received a record."
    sentence = "; ".join(clauses)
    return f"{sentence[0].upper()}{sentence[1:]}."


def delivery(summaries: Sequence[Summary]) -> str:
    """Whether every record came, and once."""
    consumers = [consumer for summary in summaries for consumer in summary.consumers]
    missing = sum(int(consumer.missing.value or 0) for consumer in consumers)
    duplicates = sum(int(consumer.duplicates.value or 0) for consumer in consumers)
    if not missing and not duplicates:
        return "Every consumer received every record once."
    lacking = [consumer.label for consumer in consumers if consumer.missing.value]
    repeating = [consumer.label for consumer in consumers if consumer.duplicates.value]
    parts = []
    if missing:
        verb = "is" if missing == 1 else "are"
        parts.append(f"{plural(missing, 'record')} {verb} missing ({_names(lacking)})")
    if duplicates:
        came = plural(duplicates, "delivery", "deliveries")
        verb = "was a repetition" if duplicates == 1 else "were repetitions"
        parts.append(f"{came} {verb} ({_names(repeating)})")
    return "; ".join(parts) + "."


def _fan_out_clauses(summaries: Sequence[Summary]) -> Iterable[str]:
    found: dict[str, list[Median]] = {}
    for kind, short in _FAN_OUT_NAMES.items():
        medians = [of_kind(summary, kind) for summary in summaries]
        found[short] = [median for median in medians if median]
    spans = {short: _span(medians) for short, medians in found.items() if medians}
    if not spans:
        return
    named = [f"{span} ({short})" if len(spans) > 1 else span for short, span in spans.items()]
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    unmoved = all(_alike(medians) for medians in found.values())
    whatever = " whatever else read the stream" if unmoved and _readers_differ(summaries) else ""
    yield f"enhanced fan-out delivered at p50 {listed}{whatever}"


_FAN_OUT_NAMES: dict[Kind, str] = {
    "lambda-efo": "Lambda",
    "boto3-efo": "boto3",
    "shardlane-efo": "this library",
}


def _alike(medians: Sequence[Median]) -> bool:
    """Whether the runs do not differ: by little, or by no more than chance explains."""
    return all(
        overlap(one, other) or max(one.p50_ms, other.p50_ms) <= _near(one, other)
        for one, other in combinations(medians, 2)
    )


def _near(one: Median, other: Median) -> float:
    return min(one.p50_ms, other.p50_ms) * (1 + UNCHANGED)


def _span(medians: Sequence[Median]) -> str:
    """One value when the runs agree closely, else from smallest to largest."""
    values = [median.p50_ms for median in medians]
    low, high = duration_text(min(values)), duration_text(max(values))
    if low == high or max(values) <= min(values) * (1 + UNCHANGED):
        return duration_text(values[0])
    unit = f" {low.split()[1]}"
    return f"{low.removesuffix(unit) if high.endswith(unit) else low} to {high}"


def _readers_differ(summaries: Sequence[Summary]) -> bool:
    readers = {
        (len(summary.of_kind("lambda-standard")), len(summary.of_kind("boto3-get-records")))
        for summary in summaries
        if "lambda-efo" in summary.pooled or "boto3-efo" in summary.pooled
    }
    return len(readers) > 1


def _standard_clauses(summaries: Sequence[Summary]) -> Iterable[str]:
    found = [of_kind(summary, "lambda-standard") for summary in summaries]
    medians = [median for median in found if median]
    if medians:
        yield f"a standard Lambda mapping at {_span(medians)}"


def _poller_clauses(summaries: Sequence[Summary]) -> Iterable[str]:
    """One clause a number of pollers, fewest first; of runs alike the first one speaks."""
    found: dict[int, str] = {}
    for summary in summaries:
        values = summary.pooled.get("boto3-get-records")
        pollers = len(summary.of_kind("boto3-get-records"))
        if values is not None and pollers not in found:
            found[pollers] = _pollers(pollers, summary.shards, values)
    for _, clause in sorted(found.items()):
        yield clause


def _library_clauses(summaries: Sequence[Summary]) -> Iterable[str]:
    """Of the first run that has one."""
    found = (summary.pooled.get("shardlane-polling") for summary in summaries)
    values = next((each for each in found if each is not None), None)
    if values is not None:
        waited = f"{duration_text(values.p50)} at p50 and {duration_text(values.p99)} at p99"
        yield f"this library's poller waited {waited}"


def _pollers(pollers: int, shards: int, values: Distribution) -> str:
    number = _NUMBERS[pollers] if pollers < len(_NUMBERS) else str(pollers)
    waited = f"waited {duration_text(values.p50)} at p50 and {duration_text(values.p99)} at p99"
    if pollers == 1:
        return f"one poller {waited}"
    place = "one shard" if shards <= 1 else f"{shards} shards"
    return f"{number} pollers sharing {place} {waited}"


def _names(labels: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(labels))
