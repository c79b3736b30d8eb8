"""Synthesizes the application in this process, without the CDK command line: for tests, for the
lab and for ``app.py``. Importing this module starts nothing; the CDK is loaded when it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.node_runtime import prepare_node

ROOT = Path(__file__).resolve().parent.parent
BUNDLING_FAILED = "Failed to bundle asset"
"""How the CDK begins the text in which a failed ``PipBundle`` comes back."""
# Who reads the templates finds each asset's folder in them; the CDK command line sets it too.
ASSET_METADATA = {"aws:cdk:enable-asset-metadata": True}
NO_BUNDLING: dict[str, list[str]] = {"aws:cdk:bundling-stacks": []}


class SynthesisError(RuntimeError):
    """The dependencies layer could not be filled; the text says why."""


def synthesize(
    outdir: Path,
    *,
    context: Mapping[str, Any] | None = None,
    bundle: bool = True,
    sources: Path = ROOT,
) -> Path:
    """Writes the cloud assembly into ``outdir`` and returns it.

    ``context`` goes over that of ``cdk.json``, as ``-c`` does. Without ``bundle`` the dependencies
    layer is left unfilled: no network is needed, and only the templates and the other assets are
    real. A layer that ``outdir`` holds already is not filled again. ``sources`` holds the folders
    ``functions`` and ``layers``. The first call in a process takes seconds: Node.js starts.

    Raises ``NodeError``, ``SettingsError`` or ``SynthesisError``.
    """
    prepare_node()
    from aws_cdk import App

    from stacks.application import compose

    app = App(
        context=file_context() | ASSET_METADATA,
        post_cli_context=dict(context or {}) | ({} if bundle else NO_BUNDLING),
        outdir=str(outdir),
        analytics_reporting=False,
    )
    try:
        compose(app, sources)
    except RuntimeError as error:
        # An error of ours that went through Node.js is a RuntimeError with a longer text.
        if BUNDLING_FAILED not in str(error):
            raise
        raise SynthesisError(str(error)) from error
    app.synth()
    return outdir


def file_context() -> dict[str, Any]:
    """The context of ``cdk.json``: flags and stages have to be the same whoever synthesizes. What
    the CDK command line puts into the environment goes over it."""
    context: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    return context
