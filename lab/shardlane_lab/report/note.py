"""What a reader of one run has to know: what is missing from it, and what its figures cannot
say."""

from __future__ import annotations

from collections.abc import Iterable

from shardlane_lab.report.consumer_summary import same_length
from shardlane_lab.report.minutes import THROTTLED
from shardlane_lab.report.summary import Summary
from shardlane_lab.report.wording import count_text, ms_text, plural

FEW = 100
"""With fewer values than this, p99 is the maximum."""

_FAR = 1.5
"""Throttles more than this many times the published ones are explained."""


def notes(summary: Summary) -> tuple[str, ...]:
    return (
        *_outside(summary),
        *_missing_parts(summary),
        *_producer(summary),
        *_counts(summary),
        *_throttles(summary),
        *_negatives(summary),
    )


def _outside(summary: Summary) -> Iterable[str]:
    """On AWS figures are measured, whatever was published."""
    clauses = summary.record.environment.get("outside_measured_range", ())
    if clauses and summary.record.target != "aws":
        yield (
            "Outside the measured range, so an extrapolation of the published measurement: "
            f"{'; '.join(clauses)}."
        )


def _missing_parts(summary: Summary) -> Iterable[str]:
    if not summary.record.complete:
        yield (
            "The run was stopped early or a part of it died; the figures are of what is there, and "
            "records counted as missing may have been on their way."
        )
    silent = [consumer.label for consumer in summary.consumers if not consumer.received.value]
    if silent:
        yield f"No samples of {', '.join(silent)}: nothing was received or nothing was written."
    if summary.minutes is None:
        yield (
            "No metrics: reads, throttles, iterator ages and subscriptions of this run are unknown."
        )
    for label, samples in summary.strangers.items():
        yield (
            f"{plural(samples, 'sample')} of {label!r} left out: the run record names no such "
            "consumer."
        )


def _producer(summary: Summary) -> Iterable[str]:
    record = summary.record
    if record.producer_failures:
        yield f"{plural(record.producer_failures, 'record')} could not be sent and count nowhere."
    if record.resends:
        copies = max((consumer.sent_twice for consumer in summary.consumers), default=0)
        yield (
            f"The producer resent {plural(record.resends, 'record')} after a failure; "
            f"{plural(copies, 'second copy', 'second copies')} reached the stream, which is no "
            "duplicate delivery."
        )


def _counts(summary: Summary) -> Iterable[str]:
    few = [c.label for c in summary.consumers if c.received.value and c.received.value < FEW]
    if few:
        yield f"Fewer than {FEW} records, so p99 is the maximum: {', '.join(few)}."
    if summary.published and not same_length(summary.record, summary.published):
        yield (
            "Counts have no ratio: this run did not last the published "
            f"{count_text(summary.published.seconds)} s."
        )


def _throttles(summary: Summary) -> Iterable[str]:
    """The model is stricter than the published run was: say so where it shows."""
    if summary.record.target == "aws" or summary.published is None:
        return
    ratios = [c.surfaced_throttles.ratio for c in summary.consumers if c.surfaced_throttles]
    if summary.minutes:
        ratios += [row.mean.ratio for row in summary.minutes.ranges if row.metric == THROTTLED]
    if any(ratio is not None and ratio > _FAR for ratio in ratios):
        yield (
            "More throttles than published, as expected: a limiter that grants exactly 5 reads a "
            "second and botocore's own retries refuse and surface more than the published run "
            "did. That run also counted up to 383 successful reads a minute, which no such "
            "limiter can grant (about 305)."
        )


def _negatives(summary: Summary) -> Iterable[str]:
    negative = [check for check in summary.clocks if check.negatives]
    if negative:
        total = sum(check.negatives for check in negative)
        smallest = min(check.smallest_ms for check in negative)
        yield (
            f"{plural(total, 'difference')} of times below zero, the smallest {ms_text(smallest)} "
            "ms: the clocks disagree by at least that much."
        )
