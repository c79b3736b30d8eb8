"""Filter rules, one by one. Source: "Filter rule syntax" and "Properly filtering Kinesis messages",
Lambda Developer Guide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane_lab.local_lambda.errors import FilterError
from shardlane_lab.local_lambda.event_filter import Filters
from shardlane_lab.local_lambda.kinesis_record import Record

ORDER = {
    "name": "Ana",
    "empty": "",
    "none": None,
    "paid": True,
    "total": 20.5,
    "tags": ["new", "vip"],
    "city": {"code": "SEA", "geo": {"lat": 47}},
}


def kept(pattern: Any, data: Any = ORDER, key: str = "key") -> bool:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    record = Record(0, "4957", key, raw, 1_780_000_000_123.0)
    return Filters((json.dumps(pattern),)).keep(record)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"name": ["Ana"]}, True),
        ({"name": ["ana"]}, False),
        ({"name": ["Bob", "Ana"]}, True),
        ({"empty": [""]}, True),
        ({"none": [None]}, True),
        ({"name": [None]}, False),
        ({"missing": [None]}, False),
        ({"paid": [True]}, True),
        ({"paid": [1]}, False),
        ({"total": [20.5]}, True),
        ({"name": ["Ana"], "paid": [False]}, False),
        ({"tags": ["vip"]}, True),
        ({"tags": ["old"]}, False),
        ({"city": {"code": ["SEA"]}}, True),
        ({"city": {"geo": {"lat": [47]}}}, True),
        ({"city": {"geo": {"lat": [48]}}}, False),
        ({"name": {"first": ["Ana"]}}, False),
        ({"name": [{"prefix": "A"}]}, True),
        ({"name": [{"prefix": "a"}]}, False),
        ({"total": [{"prefix": "2"}]}, False),
        ({"name": [{"suffix": "na"}]}, True),
        ({"name": [{"equals-ignore-case": "ANA"}]}, True),
        ({"name": [{"anything-but": ["Bob"]}]}, True),
        ({"name": [{"anything-but": ["Ana", "Bob"]}]}, False),
        ({"name": [{"anything-but": "Ana"}]}, False),
        ({"missing": [{"anything-but": ["Ana"]}]}, False),
        ({"total": [{"numeric": [">", 20]}]}, True),
        ({"total": [{"numeric": [">", 0, "<=", 20]}]}, False),
        ({"total": [{"numeric": ["=", 20.5]}]}, True),
        ({"total": [{"numeric": ["<", 20.5]}]}, False),
        ({"total": [{"numeric": [">=", 20.5]}]}, True),
        ({"name": [{"numeric": [">", 0]}]}, False),
        ({"paid": [{"numeric": [">", 0]}]}, False),
        ({"name": [{"exists": True}]}, True),
        ({"missing": [{"exists": True}]}, False),
        ({"missing": [{"exists": False}]}, True),
        ({"name": [{"exists": False}]}, False),
        ({"city": [{"exists": True}]}, False),  # only leaves exist
        ({"none": [{"exists": True}]}, True),
        ({"$or": [{"name": ["Bob"]}, {"paid": [True]}]}, True),
        ({"$or": [{"name": ["Bob"]}, {"paid": [False]}]}, False),
    ],
)
def test_a_rule_on_the_data(rules: dict[str, Any], expected: bool) -> None:
    assert kept({"data": rules}) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"partitionKey": ["key"]}, True),
        ({"partitionKey": [{"prefix": "K"}]}, False),
        ({"sequenceNumber": ["4957"]}, True),
        ({"approximateArrivalTimestamp": [{"numeric": [">", 1_780_000_000]}]}, True),
        ({"partitionKey": ["key"], "data": {"name": ["Bob"]}}, False),
        ({"$or": [{"partitionKey": ["other"]}, {"data": {"name": ["Ana"]}}]}, True),
        ({}, True),
    ],
)
def test_a_rule_on_the_record(pattern: dict[str, Any], expected: bool) -> None:
    assert kept(pattern) is expected


@pytest.mark.parametrize("data", [b"no JSON", b"\xff", b"", [1, 2], "text", 7])
def test_data_that_is_no_json_object_does_not_match_a_data_pattern(data: Any) -> None:
    assert not kept({"data": {"missing": [{"exists": False}]}}, data)


def test_metadata_patterns_do_not_look_at_the_data() -> None:
    assert kept({"partitionKey": ["key"]}, b"\xff not JSON")


def test_without_filters_everything_is_kept() -> None:
    assert Filters(()).keep(Record(0, "1", "k", b"\xff", 0.0))


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        ('{"data": ["text"]}', "data must be an object"),
        ('{"dat": {"a": ["b"]}}', "names dat, allowed: data, kinesisSchemaVersion"),
        ('{"$or": [{"partitionKey": ["a"]}, {"dat": {"a": ["b"]}}]}', "names dat, allowed"),
        ('{"$or": [{"data": ["text"]}]}', "data must be an object"),
        ('{"data": {"a": "b"}}', "a must be a list of rules"),
        ('{"data": {"a": []}}', "a must be a list of rules"),
        ('{"data": {"a": [{"regex": "x"}]}}', "the rule {'regex': 'x'} is not understood"),
        ('{"data": {"a": [{"numeric": [">"]}]}}', "numeric takes pairs of sign and number"),
        ('{"data": {"a": [{"numeric": ["!", 1]}]}}', "numeric takes pairs of sign and number"),
        ('{"data": {"$or": [{"a": "b"}]}}', "a must be a list of rules"),
    ],
)
def test_a_pattern_that_the_service_refuses_says_why(pattern: str, said: str) -> None:
    with pytest.raises(FilterError) as caught:
        Filters((pattern,))
    assert said in str(caught.value)
