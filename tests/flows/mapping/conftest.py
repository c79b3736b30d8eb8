"""Every rule is tried on both kinds of source, where it holds for both."""

from __future__ import annotations

import pytest

from shardlane_lab.pytest_plugin import MappingTrials, kinesis_mapping

__all__ = ["MappingTrials", "kinesis_mapping"]


@pytest.fixture(params=["standard", "efo"])
def source(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind
