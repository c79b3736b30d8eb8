"""Synthesizes a CDK app without the CDK CLI: its command runs with the environment that the CLI
would give it, and leaves a cloud assembly (templates and asset folders)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shardlane_lab.errors import AssemblyError


def synthesize(app: Path, outdir: Path, context: Mapping[str, Any] | None = None) -> Path:
    """Runs the app of the folder ``app`` (the one with ``cdk.json``) and returns ``outdir``.

    ``context`` goes over that of ``cdk.json``, as ``-c`` does. Raises ``AssemblyError``.
    """
    config = _config(app)
    if shutil.which("node") is None:
        raise AssemblyError(
            "the AWS CDK needs Node.js 20 or newer and `node` is not on the PATH: install it"
        )
    environment = os.environ | {
        "CDK_OUTDIR": str(outdir.resolve()),
        "CDK_CONTEXT_JSON": json.dumps({**config.get("context", {}), **(context or {})}),
    }
    done = subprocess.run(
        _command(config["app"]),
        cwd=app,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssemblyError(f"{app}: `{config['app']}` failed:\n{done.stderr.strip()}")
    return outdir


def _config(app: Path) -> dict[str, Any]:
    path = app / "cdk.json"
    if not path.is_file():
        raise AssemblyError(
            f"{app.resolve()} holds no cdk.json: name the CDK app's folder with --app"
        )
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(config.get("app"), str):
        raise AssemblyError(f'{path}: "app" must be the command that runs the app')
    return config


def _command(app_command: str) -> list[str]:
    """The app's command; a plain ``python`` is the interpreter that runs the lab, which has the
    CDK installed even where no virtual environment is active."""
    words = shlex.split(app_command)
    if words and words[0] in ("python", "python3", ".venv/bin/python"):
        words[0] = sys.executable
    return words
