"""Source: "Embedded metric format specification", CloudWatch User Guide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane_lab.local_aws.embedded_metrics import (
    EmbeddedMetric,
    embedded_data,
    embedded_metrics,
)
from shardlane_lab.local_aws.gathered import Gathered
from shardlane_lab.metric import Datum, dimensions

DOCUMENT: dict[str, Any] = {
    "_aws": {
        "Timestamp": 1_780_000_000_123,
        "CloudWatchMetrics": [
            {
                "Namespace": "Orders",
                "Dimensions": [["service"], ["service", "label"], []],
                "Metrics": [{"Name": "Latency", "Unit": "Milliseconds"}, {"Name": "Count"}],
            }
        ],
    },
    "service": "orders",
    "label": "efo",
    "Latency": [1.5, 2],
    "Count": 7,
    "seq": [1, 2],
}


def test_every_set_of_dimensions_is_a_metric_of_its_own() -> None:
    found = embedded_metrics(json.dumps(DOCUMENT))
    sets = [
        dimensions(service="orders"),
        dimensions(service="orders", label="efo"),
        dimensions(),
    ]
    assert found == [
        EmbeddedMetric("Orders", name, where, unit, values, 1_780_000_000_123.0)
        for where in sets
        for name, unit, values in (
            ("Latency", "Milliseconds", (1.5, 2.0)),
            ("Count", "None", (7.0,)),
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        "plain text",
        '{"a": 1}',
        '{"_aws"',
        '["_aws"]',
        json.dumps({"_aws": "x"}),
        json.dumps({"_aws": {"CloudWatchMetrics": []}}),
        json.dumps(DOCUMENT | {"Latency": "slow", "Count": None}),
        json.dumps({key: value for key, value in DOCUMENT.items() if key == "_aws"}),
    ],
)
def test_anything_else_is_no_metric(line: str) -> None:
    assert embedded_metrics(line) == []


def test_a_set_whose_dimension_is_missing_is_left_out() -> None:
    without = {key: value for key, value in DOCUMENT.items() if key != "label"}
    found = {each.dimensions for each in embedded_metrics(json.dumps(without))}
    assert found == {dimensions(service="orders"), dimensions()}


def test_service_metrics_are_published_as_statistics() -> None:
    gathered = Gathered()
    where = dimensions(FunctionName="f")
    for value in (3.0, 1.0, 2.0):
        gathered.observe(Datum("AWS/Lambda", "Duration", where, value, 5000.0, "Milliseconds"))
    assert gathered.metric_data() == {
        "AWS/Lambda": [
            {
                "MetricName": "Duration",
                "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
                "Unit": "Milliseconds",
                "Timestamp": 5.0,
                "StatisticValues": {
                    "SampleCount": 3.0,
                    "Sum": 6.0,
                    "Minimum": 1.0,
                    "Maximum": 3.0,
                },
            }
        ]
    }


def test_embedded_values_are_kept_and_split_at_the_quota() -> None:
    gathered = Gathered()
    values = [float(i) for i in range(301)]
    gathered.log("f", json.dumps(DOCUMENT | {"Latency": values}), 1.0)
    entries = gathered.metric_data()["Orders"]
    first = [each for each in entries if each["MetricName"] == "Latency"][:3]
    assert [len(each["Values"]) for each in first] == [150, 150, 1]
    assert [value for each in first for value in each["Values"]] == values
    assert next(line.text for line in gathered.lines["f"]).startswith('{"_aws"')


def test_embedded_data_are_one_datum_a_value() -> None:
    found = embedded_data(json.dumps(DOCUMENT))
    of_service = [each for each in found if each.dimensions == dimensions(service="orders")]
    assert [(each.name, each.value, each.unit) for each in of_service] == [
        ("Latency", 1.5, "Milliseconds"),
        ("Latency", 2.0, "Milliseconds"),
        ("Count", 7.0, "None"),
    ]
    assert {each.at_ms for each in found} == {1_780_000_000_123.0}
    assert embedded_data("plain text") == []
