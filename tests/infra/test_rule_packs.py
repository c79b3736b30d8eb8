"""cdk-nag's packs and cfn-lint find nothing but what is acknowledged with its reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stacks.node_runtime import prepare_node
from tests.infra.cloud_assembly import CloudAssembly
from tests.infra.conftest import DISTINCT, ECR_IMAGE, OTHERWISE


def _findings(folder: Path, build: Any, **context: Any) -> list[tuple[str, str]]:
    """(rule, severity) of what both packs find."""
    prepare_node()
    from aws_cdk import App, Validations
    from cdk_nag import AwsSolutionsChecks, ServerlessChecks

    from stacks.synth import NO_BUNDLING, file_context

    app = App(
        context=file_context(),
        post_cli_context=context | NO_BUNDLING,
        outdir=str(folder),
        analytics_reporting=False,
    )
    build(app)
    Validations.of(app).add_plugins(AwsSolutionsChecks(), ServerlessChecks())
    app.synth()
    return _reported(folder)


def _reported(folder: Path) -> list[tuple[str, str]]:
    report = folder / "validation-report.json"
    if not report.exists():
        return []
    return [
        (violation["ruleName"], violation["severity"])
        for plugin in json.loads(report.read_text("utf-8"))["pluginReports"]
        for violation in plugin["violations"]
    ]


@pytest.mark.parametrize(
    "settings",
    [DISTINCT | {"worker": {"image": ECR_IMAGE}}, OTHERWISE],
    ids=["distinct", "otherwise"],
)
def test_nothing_is_found_that_has_no_reason(tmp_path: Path, settings: dict[str, Any]) -> None:
    from stacks.application import compose
    from stacks.synth import ROOT

    found = _findings(
        tmp_path, lambda app: compose(app, ROOT), stage="test", stages={"test": settings}
    )
    assert found == []


def test_the_packs_look(tmp_path: Path) -> None:
    """In an app that acknowledges what ours does, but takes messages over plain HTTP."""

    def build(app: Any) -> None:
        from aws_cdk import Stack
        from aws_cdk import aws_sqs as sqs

        from stacks.acknowledged import acknowledge

        sqs.Queue(Stack(app, "careless"), "Queue")
        acknowledge(app)

    with pytest.raises(RuntimeError, match="AwsSolutions::AwsSolutions-SQS4"):
        _findings(tmp_path, build)
    assert "AwsSolutions-SQS4" in {rule for rule, _ in _reported(tmp_path)}


def test_every_acknowledgement_names_its_pack_and_a_reason() -> None:
    from stacks.acknowledged import EVERYWHERE

    for rule, reason in EVERYWHERE.items():
        assert rule.startswith(("AwsSolutions::AwsSolutions-", "Serverless::Serverless-"))
        assert reason.endswith(".")
        assert len(reason.split()) > 8


@pytest.mark.parametrize("variant", ["distinct", "otherwise"])
def test_cfn_lint_finds_nothing(variant: str, request: pytest.FixtureRequest) -> None:
    assembly: CloudAssembly = request.getfixturevalue(variant)
    templates = [str(path) for path in sorted(assembly.folder.glob("*.template.json"))]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cfn-lint")), *templates],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
