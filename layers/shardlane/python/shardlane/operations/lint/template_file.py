"""A CloudFormation template from a file: JSON, or YAML with the short forms of functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shardlane.operations.errors import OperationError

MOST_BYTES = 10_000_000
"""CloudFormation itself takes 1 MB."""


def read_template(path: Path) -> dict[str, Any]:
    """Raises ``OperationError`` naming the file and what is wrong with it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise OperationError(f"{path} has over {MOST_BYTES:,} bytes, which no template has")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OperationError(f"{path} cannot be read: {error}") from error
    return parse_template(text, str(path))


def parse_template(text: str, name: str) -> dict[str, Any]:
    """``name`` is for messages."""
    parsed = _json(text, name) if text.lstrip().startswith("{") else _yaml(text, name)
    if not isinstance(parsed, dict) or not isinstance(parsed.get("Resources"), dict):
        raise OperationError(f"{name} is no CloudFormation template: it has no Resources")
    return parsed


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OperationError(f"{name} is not JSON: {error}") from error


def _yaml(text: str, name: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise OperationError("YAML needs PyYAML: pip install 'shardlane[cli]'") from error
    try:
        return yaml.load(text, _loader(yaml))  # a SafeLoader: it makes plain values only
    except yaml.YAMLError as error:
        raise OperationError(f"{name} is not YAML: {' '.join(str(error).split())}") from error


def _loader(yaml: Any) -> Any:
    class TemplateLoader(yaml.SafeLoader):  # type: ignore[misc]  # untyped where it comes from
        """``!GetAtt A.B`` is ``{"Fn::GetAtt": ["A", "B"]}``, as CloudFormation has it."""

    def function(loader: Any, suffix: str, node: Any) -> dict[str, Any]:
        if isinstance(node, yaml.ScalarNode):
            value: Any = loader.construct_scalar(node)
        elif isinstance(node, yaml.SequenceNode):
            value = loader.construct_sequence(node, deep=True)
        else:
            value = loader.construct_mapping(node, deep=True)
        if suffix == "GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
        return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}

    TemplateLoader.add_multi_constructor("!", function)
    return TemplateLoader
