"""What a mapping publishes. Source: "Types of metrics for Lambda functions", Lambda Developer
Guide."""

from __future__ import annotations

import json

import pytest

from shardlane_lab.metric import dimensions
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import poison, report, succeed

MAPPING = dimensions(EventSourceMappingUUID="00000000-0000-4000-8000-000000000001")
FUNCTION = dimensions(FunctionName="function")


def test_event_counts_of_a_batch_that_is_given_up(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    keep = json.dumps({"partitionKey": ["k"]})
    trial = kinesis_mapping(poison("bad"), source=source, maximum_retry_attempts=1, filters=(keep,))
    trial.put_all([("good", "k"), ("bad", "k"), ("other", "filtered out")])
    trial.settle()
    assert sum(trial.metric("PolledEventCount")) == 3
    assert sum(trial.metric("FilteredOutEventCount")) == 1
    assert trial.metric("InvokedEventCount") == [2, 2]
    assert trial.metric("FailedInvokeEventCount") == [2, 2]
    assert trial.metric("DroppedEventCount") == []
    assert trial.metric("OnFailureDestinationDeliveredEventCount") == [2]


def test_an_empty_poll_counts_as_0(kinesis_mapping: MappingTrials, source: str) -> None:
    """That it is published at all tells a quiet stream from a dead mapping."""
    trial = kinesis_mapping(succeed, source=source)
    trial.run(60)
    polls = trial.metric("PolledEventCount")
    assert set(polls) == {0.0}
    assert len(polls) >= 10


def test_event_counts_have_the_mapping_as_their_only_dimension(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed)
    trial.put("a")
    trial.settle()
    counts = {each.dimensions for each in trial.metrics if each.name.endswith("EventCount")}
    assert counts == {MAPPING}
    ages = {each.dimensions for each in trial.metrics if each.name == "IteratorAge"}
    assert ages == {FUNCTION}


def test_without_metrics_config_there_are_no_event_counts(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, event_count_metrics=False)
    trial.put("a")
    trial.settle()
    assert [each.name for each in trial.metrics if each.name.endswith("EventCount")] == []
    assert len(trial.metric("IteratorAge")) == 1


def test_iterator_age_is_that_of_the_oldest_record_and_only_when_invoked(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed, starting_position="LATEST")
    trial.run(0.2)  # the mapping polls at every full second
    trial.put("oldest")
    trial.run(0.5)
    trial.put("newest")
    trial.settle()
    trial.run(60)
    (age_ms,) = trial.metric("IteratorAge")
    assert age_ms == pytest.approx(800, abs=0.01)


def test_a_partial_failure_counts_the_records_that_are_sent_again(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(report("c"), report_batch_item_failures=True, maximum_retry_attempts=0)
    trial.put_all([(text, "k") for text in "abcd"])
    trial.settle()
    assert trial.metric("FailedInvokeEventCount") == [2]
    assert trial.metric("OnFailureDestinationDeliveredEventCount") == [2]


def test_dropped_is_what_no_destination_was_told_of(kinesis_mapping: MappingTrials) -> None:
    for options in ({"on_failure": None}, {"destination_fails": True}):
        trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=0, **options)
        trial.put("bad")
        trial.settle()
        assert trial.metric("DroppedEventCount") == [1]
        assert trial.metric("OnFailureDestinationDeliveredEventCount") == []


def test_invocations_errors_and_duration_of_the_function(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(poison("bad"), maximum_retry_attempts=2, duration_s=0.25)
    trial.put("bad")
    trial.settle()
    trial.put("good")
    trial.settle()
    assert trial.metric("Invocations") == [1, 1, 1, 1]
    assert trial.metric("Errors") == [1, 1, 1, 0]
    assert trial.metric("Duration")[-1] == pytest.approx(250)
