"""The CDK application. ``npx aws-cdk@2 deploy --all`` runs this file."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    _use_environment_with_the_cdk()
    from stacks.node_runtime import NodeError
    from stacks.setting_rules import SettingsError
    from stacks.synth import SynthesisError, synthesize

    try:
        synthesize(Path(os.environ.get("CDK_OUTDIR", HERE / "cdk.out")))
    except (NodeError, SettingsError, SynthesisError) as error:
        sys.exit(f"error: {error}")


def _use_environment_with_the_cdk() -> None:
    """``cdk.json`` names plain ``python3``: right in an activated environment, and otherwise this
    file starts over in the project's own."""
    if importlib.util.find_spec("aws_cdk"):
        return
    python = HERE / ".venv" / "bin" / "python"
    if not python.exists() or Path(sys.prefix) == python.parent.parent:
        sys.exit("error: aws-cdk-lib is not installed: run `make setup`")
    os.execv(python, [str(python), *sys.argv])


if __name__ == "__main__":
    main()
