"""Bisecting. Source: ``BisectBatchOnFunctionError``, Lambda API reference, and "Using an
event source mapping with Kinesis: error handling", Lambda Developer Guide."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.mapping_config import Undocumented
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import Event, numbers, poison, report, texts


def bisected(trials: MappingTrials, handler: Any, data: str, **options: Any) -> MappingTrial:
    trial = trials(handler, bisect_batch_on_function_error=True, **options)
    trial.put_all([(text, "key") for text in data])
    trial.settle()
    return trial


def batches(trial: MappingTrial) -> list[str]:
    return ["".join(texts(each.event)) for each in trial.invocations]


def given_up(trial: MappingTrial) -> list[tuple[str, int]]:
    return [
        (each["requestContext"]["condition"], each["KinesisBatchInfo"]["batchSize"])
        for each in trial.on_failure
    ]


def test_a_failed_batch_is_split_in_two_and_the_first_half_goes_first(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = bisected(kinesis_mapping, poison("f"), "abcdefgh", maximum_retry_attempts=1)
    assert batches(trial) == ["abcdefgh", "abcd", "efgh", "ef", "e", "f", "f", "gh"]


def test_a_split_consumes_no_retry(kinesis_mapping: MappingTrials) -> None:
    """With no retry allowed a poison record is still isolated, and given up alone."""
    trial = bisected(kinesis_mapping, poison("c"), "abcd", maximum_retry_attempts=0)
    assert batches(trial) == ["abcd", "ab", "cd", "c", "d"]
    assert given_up(trial) == [("RetryAttemptsExhausted", 1)]


def test_every_half_keeps_the_retries_that_its_batch_had_used(
    kinesis_mapping: MappingTrials,
) -> None:
    """The first answer reports c, and that uses up one of two retries; then all invocations
    fail, so each single record has one retry left."""

    def handler(event: Event, _context: Any) -> Event:
        if "a" not in texts(event):
            raise ValueError("down")
        return {"batchItemFailures": [{"itemIdentifier": numbers(event)[2]}]}

    trial = bisected(
        kinesis_mapping,
        handler,
        "abcdef",
        report_batch_item_failures=True,
        maximum_retry_attempts=2,
    )
    expected = ["abcdef", "cdef", "cd", "c", "c", "d", "d", "ef", "e", "e", "f", "f"]
    assert batches(trial) == expected


def test_without_bisect_the_whole_batch_is_retried_and_given_up(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison("c"), maximum_retry_attempts=1)
    trial.put_all([(text, "key") for text in "abcd"])
    trial.settle()
    assert batches(trial) == ["abcd", "abcd"]
    assert given_up(trial) == [("RetryAttemptsExhausted", 4)]


def test_with_a_partial_response_the_split_is_at_the_reported_number(
    kinesis_mapping: MappingTrials,
) -> None:
    """Not in the middle: what lies before it is handled and never sent again."""
    trial = bisected(
        kinesis_mapping,
        report("g"),
        "abcdefgh",
        report_batch_item_failures=True,
        maximum_retry_attempts=2,
    )
    assert batches(trial)[:2] == ["abcdefgh", "gh"]
    assert trial.handled().count("a") == 1


@pytest.mark.parametrize(("free", "sends_of_g"), [(False, 3), (True, 4)])
def test_whether_a_split_at_a_reported_number_consumes_a_retry(
    kinesis_mapping: MappingTrials, free: bool, sends_of_g: int
) -> None:
    """Undocumented: both answers."""
    trial = bisected(
        kinesis_mapping,
        report("g"),
        "abcdefgh",
        report_batch_item_failures=True,
        maximum_retry_attempts=2,
        undocumented=Undocumented(partial_split_is_free=free),
    )
    assert trial.handled().count("g") == sends_of_g


@pytest.mark.parametrize(
    ("halved", "expected", "lost"),
    [
        (False, ["abcd", "abcd"], [("RetryAttemptsExhausted", 4)]),
        (True, ["abcd", "ab", "a", "a", "b", "cd"], [("RetryAttemptsExhausted", 1)]),
    ],
)
def test_whether_a_batch_is_halved_when_its_first_record_is_reported(
    kinesis_mapping: MappingTrials,
    halved: bool,
    expected: list[str],
    lost: list[tuple[str, int]],
) -> None:
    """Undocumented: both answers."""
    trial = bisected(
        kinesis_mapping,
        report("a"),
        "abcd",
        report_batch_item_failures=True,
        maximum_retry_attempts=1,
        undocumented=Undocumented(first_reported_is_halved=halved),
    )
    assert batches(trial) == expected
    assert given_up(trial) == lost


def test_a_malformed_partial_response_splits_in_halves(kinesis_mapping: MappingTrials) -> None:
    def handler(event: Any, _context: Any) -> Any:
        return {"batchItemFailures": [{"itemIdentifier": ""}] if len(event["Records"]) > 2 else []}

    trial = bisected(kinesis_mapping, handler, "abcd", report_batch_item_failures=True)
    assert batches(trial) == ["abcd", "ab", "cd"]


def test_a_time_out_is_bisected_too(kinesis_mapping: MappingTrials) -> None:
    trial = bisected(
        kinesis_mapping,
        lambda _event, _context: None,
        "abcd",
        timeout_s=3,
        duration_s=lambda event: 1.0 * len(event["Records"]),
    )
    assert batches(trial) == ["abcd", "ab", "cd"]
