"""``shardlane lint`` on what this app deploys: what it says to others holds here too."""

from __future__ import annotations

import pytest

from shardlane.cli.main import main
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import DISTINCT, Synthesized


def lint(assembly: CloudAssembly, capsys: pytest.CaptureFixture[str]) -> tuple[set[int], str]:
    """The exit statuses over all stacks, and what was printed."""
    paths = sorted(assembly.folder.glob("*.template.json"))
    assert len(paths) >= 3
    return {main(("lint", str(path))) for path in paths}, capsys.readouterr().out


def test_the_first_stage_says_why_it_starts_at_latest(
    dev: CloudAssembly, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses, said = lint(dev, capsys)
    assert statuses == {0}
    assert said.count("StartingPosition is LATEST [latest]") == 2
    assert said.count("acknowledged: Chosen in cdk.json") == 2
    assert "0 findings (2 more acknowledged) in 2 Kinesis mappings" in said


def test_production_needs_no_excuse(
    prod: CloudAssembly, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses, said = lint(prod, capsys)
    assert statuses == {0}
    assert "[" not in said
    assert "0 findings in 2 Kinesis mappings" in said


def test_nothing_else_is_excused(
    synthesized: Synthesized, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batches that cannot fill are a finding, whatever is acknowledged beside it."""
    standard = DISTINCT["standard"]
    assert isinstance(standard, dict)
    large = standard | {"mapping": {"batch_size": 10_000}}
    statuses, said = lint(
        synthesized(DISTINCT | {"standard": large, "policy": "stop", "redrive_every_min": None}),
        capsys,
    )
    assert statuses == {0, 1}
    assert "[batch-over-6mb]" in said
