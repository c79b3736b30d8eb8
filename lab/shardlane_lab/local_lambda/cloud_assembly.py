"""A synthesized CDK app on disk: its stacks' templates and where each asset's folder is.

Source: "Cloud assembly schema" of the AWS CDK; ``manifest.json`` names the stacks, each stack's
``*.assets.json`` maps the object key that the template uses to a folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardlane_lab.local_lambda.errors import TemplateError


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack as CloudFormation would get it."""

    name: str
    template: Mapping[str, Any]
    assets: Mapping[str, Path]
    """Object key (the template's ``S3Key``) to the asset's folder or file."""

    @property
    def resources(self) -> Mapping[str, Mapping[str, Any]]:
        resources: Mapping[str, Mapping[str, Any]] = self.template.get("Resources", {})
        return resources


def read_stacks(folder: Path) -> tuple[Stack, ...]:
    """In the manifest's order. Raises ``TemplateError`` if ``folder`` holds no assembly."""
    manifest = _read(folder / "manifest.json")
    stacks = [
        _stack(folder, artifact_id, artifact["properties"])
        for artifact_id, artifact in manifest.get("artifacts", {}).items()
        if artifact.get("type") == "aws:cloudformation:stack"
    ]
    if not stacks:
        raise TemplateError(f"{folder / 'manifest.json'} names no stack")
    return tuple(stacks)


def _stack(folder: Path, artifact_id: str, properties: Mapping[str, Any]) -> Stack:
    return Stack(
        name=properties.get("stackName", artifact_id),
        template=_read(folder / properties["templateFile"]),
        assets=_assets(folder, artifact_id),
    )


def _assets(folder: Path, artifact_id: str) -> dict[str, Path]:
    path = folder / f"{artifact_id}.assets.json"
    if not path.is_file():
        return {}
    return {
        destination["objectKey"]: folder / asset["source"]["path"]
        for asset in _read(path).get("files", {}).values()
        for destination in asset.get("destinations", {}).values()
        if "path" in asset.get("source", {})
    }


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise TemplateError(
            f"{path} is missing: {path.parent} holds no synthesized app (`cdk synth` makes one)"
        )
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise TemplateError(f"{path} is not JSON: {error}") from error
    return values
