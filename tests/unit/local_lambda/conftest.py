from __future__ import annotations

from pathlib import Path

import pytest

from shardlane_lab.pytest_plugin import kinesis_mapping
from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler

__all__ = ["kinesis_mapping"]


@pytest.fixture
def sandboxed(tmp_path: Path) -> SandboxedHandler:
    return SandboxedHandler(tmp_path)
