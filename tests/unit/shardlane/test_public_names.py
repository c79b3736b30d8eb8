from __future__ import annotations

import subprocess
import sys

import pytest

import shardlane

PUBLIC = {
    "Backoff",
    "BadEvent",
    "BadRecord",
    "Drop",
    "FailurePolicy",
    "KeyedBatchProcessor",
    "Park",
    "ParkingError",
    "ParkingLot",
    "Record",
    "SettingsError",
    "ShardlaneError",
}


def test_the_public_names_are_these() -> None:
    assert set(shardlane.__all__) == PUBLIC
    assert set(dir(shardlane)) >= PUBLIC
    for name in PUBLIC:
        assert getattr(shardlane, name).__name__ == name


def test_another_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Recordd'"):
        shardlane.Recordd  # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import shardlane", ("aws_lambda_powertools", "asyncio", "boto3")),
        ("from shardlane import Record", ("aws_lambda_powertools", "boto3")),
        (
            "from shardlane import KeyedBatchProcessor, FailurePolicy; "
            "KeyedBatchProcessor(on_failure=FailurePolicy.stop())",
            ("boto3", "botocore.session", "pydantic", "aws_lambda_powertools.utilities.parser"),
        ),
    ],
)
def test_a_cold_start_imports_only_what_is_used(code: str, absent: tuple[str, ...]) -> None:
    check = f"{code}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
