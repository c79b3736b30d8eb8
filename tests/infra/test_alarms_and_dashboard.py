from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from stacks.synth import ROOT
from tests.infra.cloud_assembly import CloudAssembly

ALARM = "AWS::CloudWatch::Alarm"
# Dimensions under which the services publish (Lambda Developer Guide, "Types of metrics for Lambda
# functions"; Kinesis Developer Guide, "Monitoring … with Amazon CloudWatch"): under others, or
# none, there never is a value.
MAPPING = frozenset({"EventSourceMappingUUID"})
FUNCTION = frozenset({"FunctionName"})
STREAM = frozenset({"StreamName"})
FAN_OUT = frozenset({"StreamName", "ConsumerName"})
CONSUMER = frozenset({"consumer"})
PUBLISHED = {
    "ArrivalToReceive": {"service", "label"},
    **dict.fromkeys(("IteratorAge", "DestinationDeliveryFailures", "Throttles"), FUNCTION),
    **dict.fromkeys(("Invocations", "Duration"), FUNCTION),
    **dict.fromkeys(("PolledEventCount", "FailedInvokeEventCount", "DroppedEventCount"), MAPPING),
    "OnFailureDestinationDeliveredEventCount": MAPPING,
    **dict.fromkeys(("IncomingRecords", "IncomingBytes", "GetRecords.Success"), STREAM),
    "ReadProvisionedThroughputExceeded": STREAM,
    "WriteProvisionedThroughputExceeded": STREAM,
    "SubscribeToShard.Success": FAN_OUT,
    "SubscribeToShard.RateExceeded": FAN_OUT,
    "SubscribeToShardEvent.MillisBehindLatest": FAN_OUT,
    "ApproximateNumberOfMessagesVisible": {"QueueName"},
    "ApproximateAgeOfOldestMessage": {"QueueName"},
    **dict.fromkeys(("FailedRecords", "RetriedRecords", "ParkedRecords"), CONSUMER),
    **dict.fromkeys(("DroppedRecords", "ParkedKeys", "OldestParkedKeyAge"), CONSUMER),
}
NAMESPACES = {
    "AWS/Lambda": (MAPPING, FUNCTION),
    "AWS/Kinesis": (STREAM, FAN_OUT),
    "AWS/SQS": ({"QueueName"},),
    "Shardlane": (CONSUMER,),
    "Orders": ({"service", "label"},),
}
EVERY_CONSUMER = {
    "failed",
    "dropped",
    "on-failure",
    "destination",
    "dead",
    "iterator-age",
    "losing",
    "throttled",
    "parked",
    "parked-age",
}
WORKER_ALARMS = {"silent", "late", "losing", "gaps", "checkpoint-age", "held-up"}
ALARMS = {
    *(f"{name}-{what}" for name in ("read-shared", "read-pushed") for what in EVERY_CONSUMER),
    *("read-pushed-behind", "read-pushed-subscribe"),
    *("orders-reads-throttled", "orders-writes-throttled"),
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
    """(namespace, metric, dimensions, statistic) of each line of a widget, also of those that a
    line is computed of."""
    return [
        (line[0], line[1], dict(zip(line[2:-1:2], line[3:-1:2], strict=True)), line[-1]["stat"])
        for line in widget["properties"].get("metrics", [])
        if "expression" not in line[0]
    ]


def test_the_alarms_of_each_consumer_and_of_the_stream(distinct: CloudAssembly) -> None:
    names = [alarm.properties["AlarmName"] for alarm in distinct.of_type(ALARM)]
    assert sorted(names) == sorted(ALARMS)


def test_without_parking_there_is_no_alarm_on_it(otherwise: CloudAssembly) -> None:
    names = {alarm.properties["AlarmName"] for alarm in otherwise.of_type(ALARM)}
    assert not [name for name in names if "parked" in name]
    assert len(names) == len(ALARMS) - 4 + len(WORKER_ALARMS)


def test_every_alarm_has_the_dimensions_its_metric_is_published_under(
    distinct: CloudAssembly,
) -> None:
    for alarm in distinct.of_type(ALARM):
        properties = alarm.properties
        dimensions = set(_dimensions(properties))
        assert dimensions == PUBLISHED[properties["MetricName"]]
        assert dimensions in NAMESPACES[properties["Namespace"]]


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
    ("what", "metric", "datapoints", "of_last", "missing"),
    [
        ("failed", "FailedInvokeEventCount", 3, 5, "notBreaching"),
        ("dropped", "DroppedEventCount", 1, 1, "notBreaching"),
        ("on-failure", "OnFailureDestinationDeliveredEventCount", 1, 1, "notBreaching"),
        ("destination", "DestinationDeliveryFailures", 1, 1, "notBreaching"),
        ("dead", "PolledEventCount", 5, 5, "breaching"),
        ("iterator-age", "IteratorAge", 3, 5, "notBreaching"),
        ("losing", "IteratorAge", 3, 5, "notBreaching"),
        ("throttled", "Throttles", 3, 5, "notBreaching"),
        ("behind", "SubscribeToShardEvent.MillisBehindLatest", 3, 5, "notBreaching"),
        ("subscribe", "SubscribeToShard.RateExceeded", 3, 5, "notBreaching"),
        ("parked", "ParkedKeys", 1, 1, "ignore"),
        ("parked-age", "OldestParkedKeyAge", 1, 1, "ignore"),
    ],
)
def test_when_an_alarm_goes_off(
    distinct: CloudAssembly, what: str, metric: str, datapoints: int, of_last: int, missing: str
) -> None:
    alarm = distinct.one(ALARM, AlarmName=f"read-pushed-{what}").properties
    assert alarm["MetricName"] == metric
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (datapoints, of_last)
    assert (alarm["TreatMissingData"], alarm["Period"]) == (missing, 60)


def test_a_mapping_that_does_not_poll_is_dead(distinct: CloudAssembly) -> None:
    alarm = distinct.one(ALARM, AlarmName="read-shared-dead").properties
    assert (alarm["Statistic"], alarm["ComparisonOperator"], alarm["Threshold"]) == (
        "SampleCount",
        "LessThanThreshold",
        1,
    )


def test_records_are_losing_at_half_of_the_retention(distinct: CloudAssembly) -> None:
    for name in ("read-shared-losing", "read-pushed-losing", "read-pushed-behind"):
        alarm = distinct.one(ALARM, AlarmName=name).properties
        assert alarm["Threshold"] == 24 * 3_600_000
        assert alarm["Statistic"] == "Maximum"


def test_the_age_of_what_is_parked_is_the_stages(distinct: CloudAssembly) -> None:
    alarm = distinct.one(ALARM, AlarmName="read-shared-parked-age").properties
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (29, "GreaterThanThreshold")
    assert _dimensions(alarm) == {"consumer": "read-shared"}


def test_somebody_is_told_when_it_begins_and_when_it_is_over(distinct: CloudAssembly) -> None:
    topic = {"Ref": distinct.one("AWS::SNS::Topic").logical_id}
    for alarm in distinct.of_type(ALARM):
        assert alarm.properties["AlarmActions"] == alarm.properties["OKActions"] == [topic]
    subscription = distinct.one("AWS::SNS::Subscription").properties
    assert (subscription["Endpoint"], subscription["TopicArn"]) == ("orders@example.com", topic)


def test_without_an_address_nobody_is_told(dev: CloudAssembly) -> None:
    assert dev.of_type("AWS::SNS::Topic") == []
    assert not [each for each in dev.of_type(ALARM) if "AlarmActions" in each.properties]


def test_lateness_is_compared_in_milliseconds(distinct: CloudAssembly) -> None:
    alarm = distinct.one(ALARM, AlarmName="read-shared-iterator-age").properties
    assert alarm["Threshold"] == 23_000
    assert alarm["Statistic"] == "Maximum"
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    assert _dimensions(alarm) == {"FunctionName": "read-shared"}


def test_every_alarm_says_whose_it_is_and_what_it_means(distinct: CloudAssembly) -> None:
    for alarm in distinct.of_type(ALARM):
        whose, _, reason = alarm.properties["AlarmDescription"].partition(": ")
        assert whose in ("read-shared", "read-pushed", "orders")
        assert alarm.properties["AlarmName"].startswith(f"{whose}-")
        assert reason.split()[0] in ("records", "reads", "writes")
        assert reason.endswith(".")


def test_every_alarm_has_a_section_of_the_runbook() -> None:
    page = (ROOT / "docs" / "runbooks.md").read_text("utf-8")
    sections = dict(
        re.findall(r"^## `([a-z-]+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    )
    expected = {re.sub("^(read-shared|read-pushed|orders)-", "", name) for name in ALARMS}
    expected |= WORKER_ALARMS
    assert set(sections) == expected
    for name, text in sections.items():
        for part in ("**It means**", "**Look at**", "**Do**"):
            assert part in text, f"{name} has no {part}"


def test_every_line_of_the_dashboard_has_the_dimensions_it_is_published_under(
    distinct: CloudAssembly,
) -> None:
    widgets = _widgets(distinct)
    lines = [line for widget in widgets for line in _lines(widget)]
    for _, metric, dimensions, _ in lines:
        assert set(dimensions) == PUBLISHED[metric], metric
    assert {metric for _, metric, _, _ in lines} == set(PUBLISHED)
    for widget in widgets:
        assert widget["type"] == "text" or widget["properties"]["region"] == "here"


def test_the_dashboard_asks_its_questions_from_top_to_bottom(distinct: CloudAssembly) -> None:
    widgets = _widgets(distinct)
    questions = [
        (each["y"], each["properties"]["markdown"]) for each in widgets if each["type"] == "text"
    ]
    assert [text for _, text in sorted(questions)] == [
        "## Is data flowing?",
        "## How late is it?",
        "## Who is throttled?",
        "## What went wrong?",
        "## What waits?",
        "## What does it cost?",
    ]


def test_the_readme_calls_the_dashboard_by_its_name(dev: CloudAssembly) -> None:
    name = dev.one("AWS::CloudWatch::Dashboard").properties["DashboardName"]
    assert f"CloudWatch has the dashboard, `{name}`" in (ROOT / "README.md").read_text("utf-8")


def test_no_question_is_without_a_graph(otherwise: CloudAssembly) -> None:
    """With a bucket and no lot, nothing that waits has a metric."""
    widgets = sorted(_widgets(otherwise), key=lambda each: (each["y"], each["x"]))
    kinds = [each["type"] for each in widgets]
    assert ("text", "text") not in pairwise(kinds)
    assert kinds[-1] == "metric"


def test_gigabyte_seconds_are_those_of_each_functions_memory(distinct: CloudAssembly) -> None:
    lines = [
        line for widget in _widgets(distinct) for line in widget["properties"].get("metrics", [])
    ]
    expressions = [line[0]["expression"] for line in lines if "expression" in line[0]]
    assert expressions == ["duration0 / 1000 * 192 / 1024", "duration1 / 1000 * 256 / 1024"]


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
