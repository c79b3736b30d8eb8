"""Limits and delays from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limiter import LimiterShape
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.settings_file import read_service_settings, service_settings


def test_a_file_replaces_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text(
        '[limits]\nget_records_per_s = 10\nwrite_bytes_per_s = "off"\ncalls_per_s = "off"\n'
        'get_records_shape = "sliding-window"\n'
        '[delays]\nbase = "measured"\npush_spread_ms = 300\n'
    )
    read = read_service_settings(path)
    assert read.limits == Limits(
        get_records_per_s=10,
        write_bytes_per_s=None,
        calls_per_s=None,
        get_records_shape=LimiterShape.SLIDING_WINDOW,
    )
    assert read.delays.push_spread_ms == 300
    assert read.delays.put_base_ms == Delays.measured().put_base_ms


def test_nothing_said_is_the_service_without_delays() -> None:
    read = service_settings({})
    assert read.limits == Limits()
    assert read.delays == Delays.none()


def test_rates_of_control_calls_can_be_given(tmp_path: Path) -> None:
    read = service_settings({"limits": {"calls_per_s": {"ListStreams": 50}}})
    assert read.limits.calls_per_s == {"ListStreams": 50}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "settings are a table"),
        ({"limit": {}}, "unknown key 'limit'"),
        ({"limits": 3}, "limits must be a table"),
        ({"limits": {"reads": 3}}, r"unknown key limits\.reads; known are get_records_per_s, "),
        ({"limits": {"get_records_per_s": "5"}}, "must be a number, or 'off'"),
        ({"limits": {"get_records_per_s": 0}}, "limits: get_records_per_s must be above 0"),
        ({"limits": {"records_per_read": "off"}}, r"limits\.records_per_read cannot be switched"),
        (
            {"limits": {"get_records_per_s": float("nan")}},
            r"limits\.get_records_per_s must be a num",
        ),
        ({"limits": {"records_per_read": 1.5}}, "must be a whole number: 1.5"),
        ({"limits": {"calls_per_s": {"GetRecords": 5}}}, "'GetRecords' is none of AddTagsToStream"),
        ({"limits": {"calls_per_s": {"ListStreams": -5}}}, "ListStreams must be above 0: -5"),
        ({"limits": {"get_records_shape": "cup"}}, "'cup' is none of token-bucket, "),
        ({"limits": {"calls_per_s": 5}}, "must be 'off' or a table"),
        ({"delays": {"base": "slow"}}, r"delays\.base 'slow' is none of none, measured"),
        ({"delays": {"push_spread_ms": -1}}, "must not be negative"),
        ({"delays": {"push_ms": 1}}, r"unknown key delays\.push_ms"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        service_settings(values)


@pytest.mark.parametrize("content", [b"[limits", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "service.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"service\.toml is not TOML"):
        read_service_settings(path)
