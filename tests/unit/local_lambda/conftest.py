from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler


@pytest.fixture
def sandboxed(tmp_path: Path) -> SandboxedHandler:
    return SandboxedHandler(tmp_path)
