"""Facts in, findings out: each status, each note, each prospect, and what is advised."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane.operations.activity import Activity, activity, queries
from shardlane.operations.advice import advice
from shardlane.operations.diagnosis import Status, diagnose, has_passed, lateness
from shardlane.operations.facts import Facts, FunctionFacts, StreamFacts
from shardlane.operations.log_lines import Logged
from shardlane.operations.mapping import Mapping, mapping_from
from shardlane.operations.prospects import prospect
from shardlane.operations.stuck_report import as_json, text
from tests.unit.shardlane.operations.made import (
    BUCKET_ARN,
    CONSUMER_ARN,
    MINUTE_MS,
    NOW_MS,
    QUEUE_ARN,
    SEQUENCE,
    STREAM_ARN,
    Point,
    facts,
    failing,
    held,
    mapping,
    series,
)

HOUR_MS = 60 * MINUTE_MS
BUSY = Activity(ages=series(900.0), invocations=series(30.0), incoming=series(600.0))

STATUSES = [
    (Status.DISABLED, facts(mapping=mapping(state="Disabled"), held=(held(),))),
    (Status.DISABLED, facts(mapping=mapping(state="Disabling"))),
    (Status.NO_STREAM, facts(stream=StreamFacts(name="s", status="DELETING"))),
    (Status.MOVING, facts(stream=StreamFacts(name="s", status="UPDATING"), activity=BUSY)),
    (Status.THROTTLED, facts(function=FunctionFacts(reserved_concurrency=0))),
    (Status.THROTTLED, facts(activity=Activity(throttles=series(5.0)))),
    (Status.MOVING, facts(activity=Activity(throttles=series(5.0), invocations=series(1.0)))),
    (Status.BLOCKED, facts(held=(held(),), activity=BUSY)),
    (Status.BLOCKED, facts(standing_since_ms=NOW_MS - HOUR_MS, activity=BUSY)),
    (
        Status.BLOCKED,
        facts(
            standing_since_ms=NOW_MS - 1,
            activity=Activity(errors=series(1.0), invocations=series(1.0)),
        ),
    ),
    (
        Status.BLOCKED,
        facts(
            standing_since_ms=NOW_MS - 1,
            held=(held(failing=None),),
            mapping=mapping(last_result="PROBLEM: Function call failed"),
        ),
    ),
    (Status.MOVING, facts(standing_since_ms=NOW_MS - 59_000, activity=BUSY)),
    (Status.IDLE, facts(expired=(failing(),))),
    (
        Status.NOT_POLLING,
        facts(mapping=mapping(event_counts=True), activity=Activity(incoming=series(9.0))),
    ),
    (
        Status.NOT_POLLING,
        facts(
            mapping=mapping(event_counts=True),
            activity=Activity(polls=series(60.0, last_ms=NOW_MS - 11 * MINUTE_MS)),
        ),
    ),
    (
        Status.IDLE,
        facts(mapping=mapping(event_counts=True), activity=Activity(polls=series(60.0))),
    ),
    (Status.BEHIND, facts(activity=Activity(ages=series(61_000.0), invocations=series(1.0)))),
    (Status.BEHIND, facts(activity=Activity(behind=series(61_000.0)))),
    (Status.MOVING, facts(activity=BUSY)),
    (Status.IDLE, facts()),
    (Status.UNKNOWN, facts(activity=Activity(incoming=series(5.0)))),
    (Status.UNKNOWN, facts(unread=("CloudWatch metrics: no permission",))),
]


@pytest.mark.parametrize(
    ("status", "known"),
    STATUSES,
    ids=[f"{index}-{status.value}" for index, (status, _) in enumerate(STATUSES)],
)
def test_status(status: Status, known: Facts) -> None:
    assert diagnose(known, NOW_MS).status is status


def test_what_counts_as_stuck() -> None:
    assert {each for each in Status if each.is_stuck} == {
        Status.NO_STREAM,
        Status.THROTTLED,
        Status.BLOCKED,
        Status.NOT_POLLING,
    }


def test_lateness_is_the_larger_of_reading_and_invoking_and_only_if_fresh() -> None:
    both = facts(activity=Activity(ages=series(5.0), behind=series(9.0)))
    late = lateness(both, NOW_MS)
    assert late is not None
    assert (late.late_ms, late.metric) == (9.0, "SubscribeToShardEvent.MillisBehindLatest")
    stale = facts(activity=Activity(ages=series(5.0, last_ms=NOW_MS - 11 * MINUTE_MS)))
    assert lateness(stale, NOW_MS) is None


@pytest.mark.parametrize(
    ("age_ms", "passed"), [(5 * MINUTE_MS, True), (13 * MINUTE_MS, False)], ids=["younger", "older"]
)
def test_a_record_is_passed_when_a_later_batch_was_younger(age_ms: float, passed: bool) -> None:
    record = held(arrival_ms=NOW_MS - 12 * MINUTE_MS, failing=failing(last_ms=NOW_MS - MINUTE_MS))
    assert has_passed(record, series(age_ms)) is passed
    # Measured before the last failure it proves nothing.
    assert not has_passed(record, series(age_ms, last_ms=NOW_MS - 2 * MINUTE_MS))


PROSPECTS: list[tuple[str, dict[str, Any], str, str, bool, bool]] = [
    ("endless", {}, "without end", "those that expire are lost", True, False),
    ("retries", {"retries": 3}, "up to 3 times", "dropped without a message", False, False),
    (
        "retries to a queue",
        {"retries": 3, "on_failure": QUEUE_ARN},
        "up to 3 times",
        "without its payload",
        False,
        False,
    ),
    ("age", {"age_s": 600}, "until a record is 600 s old", "dropped", False, True),
    (
        "age to a bucket",
        {"age_s": 600, "on_failure": BUCKET_ARN},
        "600 s",
        "with its payload",
        False,
        True,
    ),
    ("both", {"retries": 3, "age_s": 600}, "3 times or until", "dropped", False, True),
    ("age beyond retention", {"age_s": 604_800}, "604800 s", "dropped", True, True),
]


@pytest.mark.parametrize(
    ("settings", "first", "last", "lost", "gives_up"),
    [each[1:] for each in PROSPECTS],
    ids=[each[0] for each in PROSPECTS],
)
def test_prospect(
    settings: dict[str, Any], first: str, last: str, lost: bool, gives_up: bool
) -> None:
    found = prospect(mapping(**settings), NOW_MS, retention_hours=48)
    assert first in found.lines[0]
    assert last in found.lines[-1]
    assert found.lost_ms == (NOW_MS + 48 * HOUR_MS if lost else None)
    assert found.gives_up_ms == (NOW_MS + settings["age_s"] * 1000 if gives_up else None)


def test_a_bisect_is_said_to_be_where_it_is() -> None:
    assert "in halves" in prospect(mapping(bisect=True), None, 24).lines[1]
    reported = prospect(mapping(bisect=True, partial=True), None, 24)
    assert "at the reported record" in reported.lines[1]
    assert "from the reported record on" in reported.lines[0]


def test_without_the_arrival_no_time_is_said() -> None:
    found = prospect(mapping(age_s=600), None, 24)
    assert (found.lost_ms, found.gives_up_ms) == (None, None)


def test_the_report_of_a_blocked_mapping_says_all_that_is_asked() -> None:
    finding = diagnose(facts(held=(held(),), activity=BUSY), NOW_MS)
    written = text([finding], NOW_MS, keys=True)
    for part in (
        "billing  BLOCKED  900 ms late (IteratorAge of 1 min ago)",
        f"at shardId-000000000001 {SEQUENCE}, key bob, 16 bytes",
        "(10 min), 9 invocations, at least 27 attempts: ValueError: a bad amount",
        "Lambda retries the whole batch without end",
        "lost to retention: ",
        f"shardlane peek --stream order-events --shard shardId-000000000001 --sequence {SEQUENCE}",
        "--maximum-retry-attempts 3",
    ):
        assert part in written


def test_a_key_is_shown_as_a_hash_unless_it_is_asked_for() -> None:
    finding = diagnose(facts(held=(held(key="alice@example.org"),)), NOW_MS)
    assert "alice" not in text([finding], NOW_MS, keys=False)
    assert "alice" not in json.dumps(as_json([finding], keys=False))
    assert "alice" in json.dumps(as_json([finding], keys=True))


def test_what_was_found_by_its_age_says_that_it_is_inferred() -> None:
    by_age = facts(held=(held(failing=None),), standing_since_ms=NOW_MS - HOUR_MS)
    finding = diagnose(by_age, NOW_MS)
    (block,) = finding.blocks
    assert (block.certain, block.since_ms) == (False, NOW_MS - HOUR_MS)
    assert "inferred from the iterator age" in text([finding], NOW_MS, keys=False)


def test_a_block_that_was_not_found_still_has_its_prospect() -> None:
    finding = diagnose(facts(standing_since_ms=NOW_MS - HOUR_MS), NOW_MS)
    assert finding.blocks == ()
    assert finding.prospect is not None
    assert "was not found in the stream" in text([finding], NOW_MS, keys=False)


def test_losses_are_noted_before_troubles() -> None:
    known = facts(
        mapping=mapping(on_failure=QUEUE_ARN),
        activity=Activity(dropped=series(2.0, 3.0), delivered=series(4.0), errors=series(6.0)),
        waiting=7,
        quarantined=2,
        logged=Logged(errors=(("KeyError", 6),), not_started=((1, "table: throttled"),)),
    )
    assert diagnose(known, NOW_MS).notes == (
        "5 records given up and dropped in the last 60 min",
        "4 records given up and sent to the on-failure destination in the last 60 min",
        "6 invocations of the function failed in the last 60 min",
        "quarantined keys: 2 (shardlane parked --function billing)",
        f"messages waiting at {QUEUE_ARN}: 7",
        "errors in the log: KeyError (6)",
        "the processor started nothing: table: throttled",
    )


ADVICE = [
    (facts(mapping=mapping(state="Disabled")), "update-event-source-mapping --enabled"),
    (facts(function=FunctionFacts(reserved_concurrency=0)), "delete-function-concurrency"),
    (facts(activity=Activity(throttles=series(5.0))), "raise the function's reserved concurrency"),
    (facts(stream=StreamFacts(name="s", status="CREATING")), "the stream is CREATING"),
    (
        facts(
            mapping=mapping(event_counts=True, last_result="PROBLEM: no permission"),
            activity=Activity(incoming=series(9.0)),
        ),
        "Lambda says: PROBLEM: no permission",
    ),
    (facts(activity=Activity(ages=series(90_000.0))), "ParallelizationFactor is 1"),
    (
        facts(
            activity=Activity(ages=series(90_000.0)),
            stream=StreamFacts(name="s", standard_mappings=6),
        ),
        "6 standard mappings share five reads",
    ),
    (facts(held=(held(),)), "ReportBatchItemFailures"),
]


@pytest.mark.parametrize(("known", "part"), ADVICE, ids=[part for _, part in ADVICE])
def test_advice(known: Facts, part: str) -> None:
    assert any(part in each for each in advice(diagnose(known, NOW_MS)))


def test_nothing_is_advised_where_nothing_is_wrong() -> None:
    assert advice(diagnose(facts(activity=BUSY), NOW_MS)) == ()


def test_a_bounded_mapping_is_not_told_to_bound_its_retries() -> None:
    bounded = facts(mapping=mapping(retries=3, partial=True), held=(held(),))
    assert not any("maximum-retry" in each for each in advice(diagnose(bounded, NOW_MS)))


def test_a_mapping_is_read_from_the_services_answer() -> None:
    answer = {
        "UUID": "u",
        "FunctionArn": "arn:aws:lambda:eu-west-1:123456789012:function:billing:live",
        "EventSourceArn": CONSUMER_ARN,
        "State": "Enabled",
        "LastProcessingResult": "OK",
        "BatchSize": 70,
        "MaximumRetryAttempts": 7,
        "MaximumRecordAgeInSeconds": 600,
        "BisectBatchOnFunctionError": True,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ParallelizationFactor": 3,
        "DestinationConfig": {"OnFailure": {"Destination": QUEUE_ARN}},
        "MetricsConfig": {"Metrics": ["EventCount"]},
        "StartingPosition": "LATEST",
        "FilterCriteria": {"Filters": [{"Pattern": "{}"}]},
    }
    found = mapping_from(answer)
    assert found == Mapping(
        uuid="u",
        function="billing:live",
        source_arn=CONSUMER_ARN,
        last_result="OK",
        batch_size=70,
        retries=7,
        age_s=600,
        bisect=True,
        partial=True,
        parallelization=3,
        on_failure=QUEUE_ARN,
        event_counts=True,
        starting_position="LATEST",
        filters=("{}",),
    )
    assert (found.stream, found.stream_arn, found.consumer) == (
        "order-events",
        STREAM_ARN,
        "billing-efo",
    )


def test_what_the_service_leaves_out_is_its_default() -> None:
    bare = {"UUID": "u", "FunctionArn": "billing", "EventSourceArn": STREAM_ARN}
    found = mapping_from(bare | {"DestinationConfig": {"OnFailure": {}}})
    assert found == Mapping(uuid="u", function="billing", source_arn=STREAM_ARN)
    assert found.consumer is None


def test_metrics_are_asked_with_the_dimensions_that_the_service_gives_them() -> None:
    efo = mapping(source_arn=CONSUMER_ARN, event_counts=True, function="billing:live")
    asked = {
        query["MetricStat"]["Metric"]["MetricName"]: {
            each["Name"]: each["Value"] for each in query["MetricStat"]["Metric"]["Dimensions"]
        }
        for query in queries(efo, "m0")
    }
    assert asked["IteratorAge"] == {"FunctionName": "billing"}
    assert asked["PolledEventCount"] == {"EventSourceMappingUUID": efo.uuid}
    assert asked["IncomingRecords"] == {"StreamName": "order-events"}
    assert asked["SubscribeToShardEvent.MillisBehindLatest"] == {
        "StreamName": "order-events",
        "ConsumerName": "billing-efo",
    }
    standard = {query["Id"] for query in queries(mapping(), "m0")}
    assert not standard & {"m0_polls", "m0_behind"}


def test_the_answers_of_several_mappings_and_pages_are_told_apart() -> None:
    results = [
        ("m1_ages", [Point(60_000, 5.0)]),
        ("m10_ages", [Point(0, 9.0)]),
        ("m1_ages", [Point(0, 4.0)]),
        ("m1_errors", []),
    ]
    found = activity(results, "m1")
    assert found == Activity(ages=(Point(0, 4.0), Point(60_000, 5.0)))
