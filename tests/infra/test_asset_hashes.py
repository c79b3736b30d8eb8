"""An asset's hash decides whether a deployment changes a function: it must follow the source and
nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stacks.synth import ROOT
from tests.infra.conftest import Synthesized

ASSETS = {"RuntimeLayer", "DependenciesLayer", "StandardFunction", "EfoFunction"}
PACKAGE = Path("layers/shardlane/python/shardlane")
# What running, installing or checking Python leaves beside the source.
LEFTOVERS = [
    PACKAGE / "__pycache__" / "record.cpython-313.pyc",
    PACKAGE / "nested" / "__pycache__" / "lane.cpython-313.pyc",
    # Python's own half-written file, left by a process that was killed.
    PACKAGE / "__pycache__" / "record.cpython-313.pyc.140229",
    PACKAGE / "stray.pyc",
    PACKAGE / ".mypy_cache" / "3.11" / "cache.json",
    Path("layers/shardlane/python/shardlane.egg-info/PKG-INFO"),
    Path("functions/order_latency/__pycache__/handler.cpython-313.pyc"),
    Path("layers/dependencies/__pycache__/x.cpython-313.pyc"),
]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy, since other tests import the originals while this one litters them."""
    for folder in ("functions", "layers"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def test_two_synths_give_equal_hashes(sources: Path, synthesized: Synthesized) -> None:
    once, again = (synthesized(sources=sources) for _ in range(2))
    assert once.asset_hashes() == again.asset_hashes()
    assert once.templates == again.templates
    assert set(once.asset_hashes()) == ASSETS


def test_leftovers_change_no_hash(sources: Path, synthesized: Synthesized) -> None:
    clean = synthesized(sources=sources).asset_hashes()
    for path in LEFTOVERS:
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).write_bytes(b"left over")
    littered = synthesized(sources=sources)
    assert littered.asset_hashes() == clean
    assert not list(littered.folder.rglob("*.pyc*"))


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (PACKAGE / "__init__.py", {"RuntimeLayer"}),
        (Path("functions/order_latency/handler.py"), {"StandardFunction", "EfoFunction"}),
        (Path("layers/dependencies/requirements.txt"), {"DependenciesLayer"}),
    ],
)
def test_changed_source_changes_its_own_hash_only(
    sources: Path, synthesized: Synthesized, path: Path, changed: set[str]
) -> None:
    before = synthesized(sources=sources).asset_hashes()
    with (sources / path).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    after = synthesized(sources=sources).asset_hashes()
    assert {name for name in ASSETS if before[name] != after[name]} == changed
