"""Text, Markdown and JSON reports of seeded runs, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.report.golden_report import GOLDEN, RENDERERS, seeded_folders


@pytest.mark.parametrize("name", RENDERERS)
def test_a_report_is_the_committed_one(name: str, tmp_path: Path) -> None:
    folders = seeded_folders(tmp_path)
    assert RENDERERS[name](folders) == (GOLDEN / name).read_text(encoding="utf-8")
