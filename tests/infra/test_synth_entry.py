"""How synthesis starts, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stacks.node_runtime import SILENCE, NodeError, check_version, prepare_node
from stacks.setting_rules import SettingsError
from stacks.synth import ROOT, SynthesisError, synthesize
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import Synthesized


def test_a_missing_node_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSII_NODE", "no-such-node")
    with pytest.raises(NodeError, match=r"needs Node\.js 20 or newer, and `no-such-node` is not"):
        prepare_node()


@pytest.mark.parametrize("version", ["v18.20.4", "v8.0.0", "", "20.1.0"])
def test_an_old_or_odd_node_is_refused(version: str) -> None:
    with pytest.raises(NodeError, match=r"needs Node\.js 20 or newer; `node --version` says"):
        check_version("node", version)


@pytest.mark.parametrize("version", ["v20.0.0", "v24.1.0", "v100.0.0"])
def test_a_newer_node_is_fine(version: str) -> None:
    check_version("node", version)


@pytest.mark.parametrize(("before", "after"), [("", "20"), ("18", "18,20"), ("20", "20")])
def test_what_the_user_silenced_stays_silenced(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    monkeypatch.setenv(SILENCE, before)
    prepare_node()
    assert os.environ[SILENCE] == after


def test_a_bad_setting_stops_synthesis_before_anything_is_written(tmp_path: Path) -> None:
    stages = {"dev": {"shard_count": 0}}
    with pytest.raises(SettingsError, match=r"stages\.dev\.shard_count is 0"):
        synthesize(tmp_path / "out", context={"stages": stages}, bundle=False)
    assert not list((tmp_path / "out").glob("*.template.json"))


def test_a_layer_that_pip_cannot_fill_says_why(tmp_path: Path) -> None:
    """Through Node.js and back; the pin is malformed, so pip fails before it asks any index."""
    for folder in ("functions", "layers"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    requirements = tmp_path / "layers" / "dependencies" / "requirements.txt"
    requirements.write_text("no requirement at all\n")
    with pytest.raises(SynthesisError, match=r"(?s)pip could not install .*Invalid requirement"):
        synthesize(tmp_path / "out", sources=tmp_path)


def test_context_goes_over_that_of_cdk_json(synthesized: Synthesized) -> None:
    assert set(synthesized(stage="prod").templates) == {
        "shardlane-prod-stream",
        "shardlane-prod-consumers",
        "shardlane-prod-observability",
    }


def _run_app(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "app.py")],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_app_py_says_in_one_line_what_is_missing() -> None:
    done = _run_app(JSII_NODE="no-such-node")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the AWS CDK needs Node.js 20 or newer")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow("starts a second Python and Node.js, as the CDK command line does")
def test_the_command_line_gets_the_templates_that_the_tests_see(
    tmp_path: Path, dev: CloudAssembly
) -> None:
    context = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    done = _run_app(
        CDK_OUTDIR=str(tmp_path / "out"),
        CDK_CONTEXT_JSON=json.dumps(context | {"aws:cdk:bundling-stacks": []}),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert CloudAssembly(tmp_path / "out").templates == dev.templates
