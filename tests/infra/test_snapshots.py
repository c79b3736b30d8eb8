"""What each stage deploys changes only on purpose.

After a change that is meant: ``UPDATE_SNAPSHOTS=1 python -m pytest tests/infra/test_snapshots.py``,
and the difference is reviewed with the change.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.infra.cloud_assembly import CloudAssembly

FOLDER = Path(__file__).parent / "snapshots"
_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
DROPPED = ("Metadata",)
"""Notes of the CDK to itself."""


def snapshot(assembly: CloudAssembly) -> str:
    """One line for each resource and output, sorted, without the hashes of assets: code changes
    every day."""
    lines = []
    for stack, template in assembly.templates.items():
        for part in ("Resources", "Outputs"):
            for name, body in template.get(part, {}).items():
                lines.append(f"{stack} {part[:-1].lower()} {name} {_text(body)}")
    return "\n".join(sorted(lines)) + "\n"


def _text(body: dict[str, Any]) -> str:
    kept = {key: value for key, value in body.items() if key not in DROPPED}
    return _ASSET.sub("ASSET", json.dumps(kept, sort_keys=True, separators=(",", ":")))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_stage_is_as_its_snapshot(stage: str, request: pytest.FixtureRequest) -> None:
    now = snapshot(request.getfixturevalue(stage))
    path = FOLDER / f"{stage}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    assert now.splitlines() == path.read_text("utf-8").splitlines()


def test_a_change_shows_and_code_does_not(dev: CloudAssembly, prod: CloudAssembly) -> None:
    assert snapshot(dev) != snapshot(prod)
    assert not _ASSET.search(snapshot(dev))
    assert "ASSET" in snapshot(dev)
