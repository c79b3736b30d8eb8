"""Ranges and defaults of a mapping's parameters. Source: ``CreateEventSourceMapping``, Lambda API
reference, and "Lambda parameters for Amazon Kinesis Data Streams event source mappings"."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.errors import MappingError
from shardlane_lab.local_lambda.mapping_config import MappingConfig, mapping_config


@pytest.mark.parametrize(
    ("name", "field", "lowest", "highest"),
    [
        ("BatchSize", "batch_size", 1, 10_000),
        ("MaximumBatchingWindowInSeconds", "maximum_batching_window_s", 0, 300),
        ("ParallelizationFactor", "parallelization_factor", 1, 10),
        ("MaximumRetryAttempts", "maximum_retry_attempts", -1, 10_000),
        ("TumblingWindowInSeconds", "tumbling_window_s", 0, 900),
    ],
)
def test_a_range_includes_its_ends_and_nothing_beyond(
    name: str, field: str, lowest: int, highest: int
) -> None:
    for value in (lowest, highest):
        config = mapping_config({"StartingPosition": "LATEST", name: value})
        assert getattr(config, field) == value
    for value in (lowest - 1, highest + 1):
        with pytest.raises(MappingError) as caught:
            mapping_config({"StartingPosition": "LATEST", name: value})
        assert str(caught.value) == f"{name} is {value}, allowed: {lowest} to {highest}"


@pytest.mark.parametrize("age_s", [-1, 60, 604_800])
def test_a_maximum_age_is_infinite_or_a_minute_to_a_week(age_s: int) -> None:
    values = {"StartingPosition": "LATEST", "MaximumRecordAgeInSeconds": age_s}
    assert mapping_config(values).maximum_record_age_s == age_s


@pytest.mark.parametrize("age_s", [-2, 0, 59, 604_801])
def test_a_maximum_age_between_them_is_refused(age_s: int) -> None:
    values = {"StartingPosition": "LATEST", "MaximumRecordAgeInSeconds": age_s}
    with pytest.raises(MappingError, match=r"allowed: -1 \(infinite\) or 60 to 604800"):
        mapping_config(values)


def test_the_defaults_are_the_services() -> None:
    config = mapping_config({"StartingPosition": "TRIM_HORIZON"})
    assert config == MappingConfig(
        starting_position="TRIM_HORIZON",
        batch_size=100,
        maximum_batching_window_s=0,
        parallelization_factor=1,
        maximum_record_age_s=-1,
        maximum_retry_attempts=-1,
        bisect_batch_on_function_error=False,
        report_batch_item_failures=False,
        tumbling_window_s=0,
        filters=(),
        event_count_metrics=False,
        on_failure=None,
    )


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "StartingPosition is missing"),
        ({"StartingPosition": "NEWEST"}, "StartingPosition is 'NEWEST', allowed: TRIM_HORIZON"),
        ({"StartingPosition": "AT_TIMESTAMP"}, "StartingPositionTimestamp goes with"),
        (
            {"StartingPosition": "LATEST", "StartingPositionTimestamp": 1.0},
            "StartingPositionTimestamp goes with",
        ),
        ({"StartingPosition": "LATEST", "BatchSize": "100"}, "BatchSize is '100'"),
        (
            {"StartingPosition": "LATEST", "FunctionResponseTypes": ["ReportItems"]},
            "FunctionResponseTypes has ['ReportItems'], allowed: ReportBatchItemFailures",
        ),
        (
            {"StartingPosition": "LATEST", "ProvisionedPollerConfig": {}},
            "ProvisionedPollerConfig: not a parameter of a mapping on Kinesis",
        ),
        (
            {
                "StartingPosition": "LATEST",
                "FilterCriteria": {"Filters": [{"Pattern": "{}"}] * 6},
            },
            "FilterCriteria has 6 patterns, allowed: up to 5",
        ),
    ],
)
def test_what_is_refused_says_what_is_allowed(properties: dict[str, Any], said: str) -> None:
    with pytest.raises(MappingError) as caught:
        mapping_config(properties)
    assert said in str(caught.value)
