"""Partial responses. Source: "Configuring partial batch response with Kinesis Data Streams and
Lambda", Lambda Developer Guide."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.mapping_config import Undocumented
from shardlane_lab.local_lambda.trial import MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import Event, answer, first_time, numbers, report, texts

ABCD = [(text, "key") for text in "abcd"]


def batches(trial: MappingTrial) -> list[str]:
    return ["".join(texts(each.event)) for each in trial.invocations]


def reporting(trials: MappingTrials, handler: Any, **options: Any) -> MappingTrial:
    options = {"maximum_retry_attempts": 2, "report_batch_item_failures": True} | options
    trial = trials(handler, **options)
    trial.put_all(ABCD)
    trial.settle()
    return trial


def test_everything_from_the_reported_record_on_is_sent_again(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = reporting(kinesis_mapping, report("c"), source=source, batch_size=4)
    assert batches(trial) == ["abcd", "cd", "cd"]


def test_the_lowest_reported_number_is_the_checkpoint(kinesis_mapping: MappingTrials) -> None:
    def handler(event: Event, _context: Any) -> Event:
        if len(event["Records"]) < 4:
            return {}
        ids = numbers(event)
        return {"batchItemFailures": [{"itemIdentifier": ids[i]} for i in (3, 1, 2)]}

    trial = reporting(kinesis_mapping, handler)
    assert batches(trial) == ["abcd", "bcd"]


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        "",
        {"batchItemFailures": []},
        {"batchItemFailures": None},
        {"batchitemfailures": [{"itemIdentifier": "1"}]},
        "a string",
        [],
    ],
    ids=str,
)
def test_an_answer_that_says_nothing_is_success(
    kinesis_mapping: MappingTrials, payload: Any
) -> None:
    """An empty or null response or list; and a wrong outer key, which nobody is told of."""
    trial = reporting(kinesis_mapping, answer(payload))
    assert batches(trial) == ["abcd"]
    assert trial.on_failure == []


@pytest.mark.parametrize(
    "failures",
    [
        [{"itemIdentifier": ""}],
        [{"itemIdentifier": None}],
        [{"itemIdentifer": "1"}],
        [{}],
        ["1"],
        [None],
        "1",
    ],
    ids=str,
)
def test_a_malformed_identifier_fails_the_whole_batch(
    kinesis_mapping: MappingTrials, failures: Any
) -> None:
    """Whatever holds for a well-formed one that names no record."""
    trial = reporting(
        kinesis_mapping,
        first_time({"batchItemFailures": failures}),
        undocumented=Undocumented(unknown_identifier="ignore"),
    )
    assert batches(trial) == ["abcd", "abcd"]


def test_a_good_identifier_beside_a_malformed_one_fails_the_whole_batch(
    kinesis_mapping: MappingTrials,
) -> None:
    calls: list[int] = []

    def handler(event: Event, _context: Any) -> Event:
        calls.append(1)
        if len(calls) > 1:
            return {}
        return {
            "batchItemFailures": [
                {"itemIdentifier": numbers(event)[2]},
                {"itemIdentifier": ""},
            ]
        }

    assert batches(reporting(kinesis_mapping, handler)) == ["abcd", "abcd"]


@pytest.mark.parametrize(
    ("rule", "expected"), [("fail-batch", ["abcd", "abcd"]), ("ignore", ["abcd"])]
)
def test_an_identifier_of_no_record_in_the_batch(
    kinesis_mapping: MappingTrials, rule: Any, expected: list[str]
) -> None:
    """Undocumented: both answers."""
    handler = first_time({"batchItemFailures": [{"itemIdentifier": "4711"}]})
    trial = reporting(kinesis_mapping, handler, undocumented=Undocumented(unknown_identifier=rule))
    assert batches(trial) == expected


def test_the_answer_is_not_read_unless_the_mapping_asks_for_it(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = reporting(kinesis_mapping, report("b"), report_batch_item_failures=False)
    assert batches(trial) == ["abcd"]
    assert trial.on_failure == []


def test_a_partial_failure_is_no_error_of_the_function(kinesis_mapping: MappingTrials) -> None:
    """The function's Errors stay 0 while its mapping is stuck."""
    trial = reporting(kinesis_mapping, report("c"))
    assert sum(trial.metric("Errors")) == 0
    assert sum(trial.metric("FailedInvokeEventCount")) > 0


def always_second(event: Event, _context: Any) -> Event:
    """Handles one record a time and reports the next: a yield."""
    rest = numbers(event)[1:]
    return {"batchItemFailures": [{"itemIdentifier": each} for each in rest[:1]]}


@pytest.mark.parametrize(("restarts", "given_up"), [(False, "d"), (True, "")])
def test_whether_progress_restarts_the_count_of_retries(
    kinesis_mapping: MappingTrials, restarts: bool, given_up: str
) -> None:
    """Undocumented, and with it whether a voluntary yield consumes a retry: both answers."""
    trial = reporting(
        kinesis_mapping,
        always_second,
        undocumented=Undocumented(progress_restarts_retries=restarts),
    )
    assert batches(trial) == (["abcd", "bcd", "cd"] if given_up else ["abcd", "bcd", "cd", "d"])
    assert sum(each["KinesisBatchInfo"]["batchSize"] for each in trial.on_failure) == len(given_up)
