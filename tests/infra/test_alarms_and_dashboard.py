from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.cloud_assembly import CloudAssembly

ALARM = "AWS::CloudWatch::Alarm"
# Dimensions under which the services publish (Lambda Developer Guide, "Types of metrics for Lambda
# functions"; Kinesis Developer Guide, "Monitoring … with Amazon CloudWatch"): under others, or
# none, there never is a value.
PUBLISHED = {
    "ArrivalToReceive": {"service", "label"},
    "IteratorAge": {"FunctionName"},
    "PolledEventCount": {"EventSourceMappingUUID"},
    "FailedInvokeEventCount": {"EventSourceMappingUUID"},
    "DroppedEventCount": {"EventSourceMappingUUID"},
    "OnFailureDestinationDeliveredEventCount": {"EventSourceMappingUUID"},
    "GetRecords.Success": {"StreamName"},
    "ReadProvisionedThroughputExceeded": {"StreamName"},
    "SubscribeToShard.Success": {"StreamName", "ConsumerName"},
    "SubscribeToShard.RateExceeded": {"StreamName", "ConsumerName"},
    "SubscribeToShardEvent.MillisBehindLatest": {"StreamName", "ConsumerName"},
}


def _dimensions(alarm: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in alarm["Dimensions"]}


def _widgets(assembly: CloudAssembly) -> list[dict[str, Any]]:
    """The dashboard's widgets; a reference in its body becomes the text ``stack:logical id``."""
    body = assembly.one("AWS::CloudWatch::Dashboard").properties["DashboardBody"]
    parts = []
    for part in body["Fn::Join"][1]:
        if isinstance(part, str):
            parts.append(part)
        elif part == {"Ref": "AWS::Region"}:
            parts.append("here")
        else:
            parts.append(assembly.follow(part)[0].logical_id)
    widgets: list[dict[str, Any]] = json.loads("".join(parts))["widgets"]
    return widgets


def _lines(widget: dict[str, Any]) -> list[tuple[str, str, dict[str, str], str]]:
    """(namespace, metric, dimensions, statistic) of each line of a widget."""
    return [
        (line[0], line[1], dict(zip(line[2:-1:2], line[3:-1:2], strict=True)), line[-1]["stat"])
        for line in widget["properties"]["metrics"]
    ]


def test_four_alarms_for_each_function(distinct: CloudAssembly) -> None:
    names = {alarm.properties["AlarmName"] for alarm in distinct.of_type(ALARM)}
    assert names == {
        f"{function}-{what}"
        for function in ("read-shared", "read-pushed")
        for what in ("failed", "dropped", "on-failure", "iterator-age")
    }


def test_every_alarm_has_the_dimensions_its_metric_is_published_under(
    distinct: CloudAssembly,
) -> None:
    for alarm in distinct.of_type(ALARM):
        properties = alarm.properties
        assert properties["Namespace"] == "AWS/Lambda"
        assert set(_dimensions(properties)) == PUBLISHED[properties["MetricName"]]


@pytest.mark.parametrize(("function", "batch_size"), [("read-shared", 101), ("read-pushed", 211)])
def test_alarms_on_events_are_on_the_functions_own_mapping(
    distinct: CloudAssembly, function: str, batch_size: int
) -> None:
    for what in ("failed", "dropped", "on-failure"):
        alarm = distinct.one(ALARM, AlarmName=f"{function}-{what}").properties
        mapping, attribute = distinct.follow(_dimensions(alarm)["EventSourceMappingUUID"])
        assert (mapping.properties["BatchSize"], attribute) == (batch_size, "Ref")
        assert (alarm["Statistic"], alarm["Period"], alarm["Threshold"]) == ("Sum", 60, 1)


@pytest.mark.parametrize(
    ("what", "metric", "datapoints", "of_last"),
    [
        ("failed", "FailedInvokeEventCount", 3, 5),
        ("dropped", "DroppedEventCount", 1, 1),
        ("on-failure", "OnFailureDestinationDeliveredEventCount", 1, 1),
        ("iterator-age", "IteratorAge", 3, 5),
    ],
)
def test_when_an_alarm_goes_off(
    distinct: CloudAssembly, what: str, metric: str, datapoints: int, of_last: int
) -> None:
    alarm = distinct.one(ALARM, AlarmName=f"read-pushed-{what}").properties
    assert alarm["MetricName"] == metric
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (datapoints, of_last)
    assert alarm["TreatMissingData"] == "notBreaching"


def test_lateness_is_compared_in_milliseconds(distinct: CloudAssembly) -> None:
    alarm = distinct.one(ALARM, AlarmName="read-shared-iterator-age").properties
    assert alarm["Threshold"] == 23_000
    assert alarm["Statistic"] == "Maximum"
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    assert _dimensions(alarm) == {"FunctionName": "read-shared"}


@pytest.mark.parametrize("function", ["read-shared", "read-pushed"])
def test_every_alarm_says_whose_it_is_and_what_it_means(
    distinct: CloudAssembly, function: str
) -> None:
    for what in ("failed", "dropped", "on-failure", "iterator-age"):
        alarm = distinct.one(ALARM, AlarmName=f"{function}-{what}").properties
        whose, _, reason = alarm["AlarmDescription"].partition(": ")
        assert whose == function
        assert reason.startswith("records ")
        assert reason.endswith(".")


def test_every_line_of_the_dashboard_has_the_dimensions_it_is_published_under(
    distinct: CloudAssembly,
) -> None:
    widgets = _widgets(distinct)
    lines = [line for widget in widgets for line in _lines(widget)]
    for _, metric, dimensions, _ in lines:
        assert set(dimensions) == PUBLISHED[metric], metric
    assert {metric for _, metric, _, _ in lines} == set(PUBLISHED)
    for widget in widgets:
        assert widget["properties"]["region"] == "here"


def test_percentiles_of_both_functions(distinct: CloudAssembly) -> None:
    lines = [line for widget in _widgets(distinct) for line in _lines(widget)]
    for label in ("lambda-standard", "lambda-efo"):
        dimensions = {"service": "order-service", "label": label}
        statistics = [
            statistic
            for namespace, metric, found, statistic in lines
            if (namespace, metric, found) == ("Orders", "ArrivalToReceive", dimensions)
        ]
        assert statistics == ["p50", "p90", "p99"]


def test_the_dashboard_shows_both_mappings_and_both_stream_consumers(
    distinct: CloudAssembly,
) -> None:
    lines = [line for widget in _widgets(distinct) for line in _lines(widget)]
    mappings = {dimensions.get("EventSourceMappingUUID") for _, _, dimensions, _ in lines}
    expected = {each.logical_id for each in distinct.of_type("AWS::Lambda::EventSourceMapping")}
    assert mappings - {None} == expected
    consumers = {dimensions.get("ConsumerName") for _, _, dimensions, _ in lines}
    assert consumers - {None} == {"orders-pushed", "orders-pulled"}
    streams = {dimensions.get("StreamName") for _, _, dimensions, _ in lines}
    assert streams - {None} == {"orders"}
