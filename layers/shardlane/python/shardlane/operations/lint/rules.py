"""The rules. Each is a pure function from what was inspected to findings.

Sources: "How Lambda processes records from Amazon Kinesis Data Streams" and "Lambda quotas", Lambda
developer guide; "Quotas and limits", Kinesis developer guide; "AWS::Kinesis::StreamConsumer",
CloudFormation reference; "Using Amazon CloudWatch alarms", CloudWatch user guide.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from shardlane.operations.lint.inspected import (
    UNKNOWN,
    Inspected,
    InspectedMapping,
    LintFinding,
)

INFINITE = (None, -1)
READS_A_SECOND = 5
"""Of a shard, shared by everybody who polls it; a standard mapping asks once a second."""
MOST_EVENT_BYTES = 6 * 1024 * 1024
ENVELOPE_BYTES = 564
"""What a record has in an event beside its data."""
ACCOUNT_METRICS = frozenset(
    {
        "ClaimedAccountConcurrency",
        "ConcurrentExecutions",
        "Duration",
        "Errors",
        "Invocations",
        "Throttles",
        "UnreservedConcurrentExecutions",
    }
)
"""Of ``AWS/Lambda``: these exist without dimensions too, over all functions of a region."""
DIMENSIONED = ("AWS/Kinesis", "AWS/SQS")
"""Namespaces in which every metric has dimensions."""

Rule = Callable[[Inspected], Iterator[LintFinding]]


def lint(inspected: Inspected) -> list[LintFinding]:
    """Every finding, in the order of the rules; acknowledged ones say so."""
    return [_judged(finding, inspected) for rule in RULES for finding in rule(inspected)]


def _judged(finding: LintFinding, inspected: Inspected) -> LintFinding:
    """A finding about several resources is acknowledged when each of them has a reason."""
    names = (name.partition(".")[0] for name in finding.where.split(", "))
    reasons = [inspected.acknowledged.get(name, {}).get(finding.rule) for name in names]
    known = list(dict.fromkeys(each for each in reasons if each is not None))
    if None in reasons:
        return finding
    return replace(finding, acknowledged="; ".join(known))


def endless_retries(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        if each.retries not in INFINITE or each.age_s not in INFINITE:
            continue
        reached = each.on_failure is not False
        yield LintFinding(
            rule="endless-retries",
            where=each.where,
            problem="failed batches are retried without end"
            + (", so that the on-failure destination never gets one" if reached else ""),
            reason="one record that cannot be processed holds up its shard until it expires, and "
            "everything behind it that expires meanwhile is lost",
            fix="set MaximumRetryAttempts (or MaximumRecordAgeInSeconds)"
            + ("" if reached else " and DestinationConfig.OnFailure")
            + ", or park: KeyedBatchProcessor with FailurePolicy.park",
        )


def no_on_failure(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        endless = each.retries in INFINITE and each.age_s in INFINITE
        if each.on_failure is False and not endless:
            yield LintFinding(
                rule="no-on-failure",
                where=each.where,
                problem="batches that are given up go nowhere",
                reason="after the last retry the records are dropped without a message; only "
                "DroppedEventCount shows it, if EventCount metrics are on",
                fix="set DestinationConfig.OnFailure to a queue, or to a bucket to keep the "
                "payload too",
            )


def no_partial_responses(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        if each.partial is False:
            yield LintFinding(
                rule="no-partial-responses",
                where=each.where,
                problem="ReportBatchItemFailures is off",
                reason="what the function reports about single records is not read: one failure "
                "repeats the whole batch, and a response that names failures counts as a success",
                fix="set FunctionResponseTypes: [ReportBatchItemFailures]",
            )


def empty_filter(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        for number, pattern in enumerate(each.filters, start=1):
            problem = _filter_problem(pattern)
            if problem is not None:
                yield LintFinding(
                    rule="empty-filter",
                    where=each.where,
                    problem=f"filter {number} {problem}",
                    reason="patterns are alternatives: an empty one matches every record, so that "
                    "nothing is filtered, and a raw dictionary in the CDK becomes an empty one "
                    "without a word",
                    fix="give it a Pattern (CDK: FilterCriteria.filter(…)), or remove it",
                )


def latest(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        if each.starting_position == "LATEST":
            yield LintFinding(
                rule="latest",
                where=each.where,
                problem="StartingPosition is LATEST",
                reason="a mapping takes minutes to start, and a change of its source, or of a name "
                "in front of it, replaces it: what arrives meanwhile is never read",
                fix="TRIM_HORIZON, or AT_TIMESTAMP with the time of the deployment",
            )


def too_many_readers(inspected: Inspected) -> Iterator[LintFinding]:
    readers: dict[str, list[InspectedMapping]] = defaultdict(list)
    for each in inspected.mappings:
        if not each.fan_out:
            readers[each.source].append(each)
    for mappings in readers.values():
        count = len(mappings) + inspected.other_readers
        if count > READS_A_SECOND:
            yield LintFinding(
                rule="too-many-readers",
                where=", ".join(each.where for each in mappings),
                problem=f"{count} readers poll one stream",
                reason=f"a shard answers {READS_A_SECOND} reads and 2 MiB a second for all of them "
                "together; a mapping asks once a second, and more often while there are records",
                fix="move some to enhanced fan-out: a registered consumer has 2 MiB/s of its own",
            )


def batch_over_6mb(inspected: Inspected) -> Iterator[LintFinding]:
    bytes_each = -(-inspected.record_bytes // 3) * 4 + ENVELOPE_BYTES
    fitting = max(1, MOST_EVENT_BYTES // bytes_each)
    for each in inspected.mappings:
        if each.batch_size is not UNKNOWN and each.batch_size > fitting:
            yield LintFinding(
                rule="batch-over-6mb",
                where=each.where,
                problem=f"BatchSize is {each.batch_size}, of which {fitting} fit at "
                f"{inspected.record_bytes:,} bytes a record ({inspected.record_bytes_from})",
                reason="an event has at most 6 MB, with the data as base64: larger batches never "
                "come, and tests with small records do not show it",
                fix=f"BatchSize {fitting} or less",
            )


def ignored_settings(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.mappings:
        if each.ignored:
            yield LintFinding(
                rule="ignored-settings",
                where=each.where,
                problem=f"{', '.join(each.ignored)} on a mapping of a Kinesis stream",
                reason="it does not apply to Kinesis: what it seems to set is not set",
                fix="remove it",
            )


def consumer_tags(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.consumers:
        if each.has_tags:
            yield LintFinding(
                rule="consumer-tags",
                where=each.where,
                problem="the stream consumer has tags",
                reason="they can be set only when it is created: a tag that changes, also one of "
                "the whole app, replaces the consumer, its ARN, and the mapping on it",
                fix="leave the type out: Tags.of(app).add(…, exclude_resource_types="
                "['AWS::Kinesis::StreamConsumer'])",
            )


def alarm_without_dimensions(inspected: Inspected) -> Iterator[LintFinding]:
    for each in inspected.alarms:
        lambda_ = each.namespace == "AWS/Lambda" and each.metric not in ACCOUNT_METRICS
        if not each.has_dimensions and (lambda_ or each.namespace in DIMENSIONED):
            yield LintFinding(
                rule="alarm-without-dimensions",
                where=each.where,
                problem=f"{each.namespace} {each.metric} without dimensions",
                reason="a metric is its name and its dimensions: without them the alarm watches "
                "one that nobody publishes, and never fires",
                fix=f"add {_DIMENSION[each.namespace]}",
            )


RULES: tuple[Rule, ...] = (
    endless_retries,
    no_on_failure,
    no_partial_responses,
    empty_filter,
    latest,
    too_many_readers,
    batch_over_6mb,
    ignored_settings,
    consumer_tags,
    alarm_without_dimensions,
)

_DIMENSION = {
    "AWS/Kinesis": "StreamName (and ConsumerName for SubscribeToShard metrics)",
    "AWS/Lambda": "FunctionName (EventSourceMappingUUID for event counts)",
    "AWS/SQS": "QueueName",
}


def _filter_problem(pattern: Any) -> str | None:
    if pattern is None or pattern == "":
        return "has no Pattern"
    if not isinstance(pattern, str):
        return None  # only the deployment knows it
    try:
        parsed = json.loads(pattern)
    except ValueError:
        return "is not JSON"
    return "is empty" if parsed == {} else None
