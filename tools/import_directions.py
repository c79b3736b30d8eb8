"""Checks who may import whom. The rules are data; a breach is printed with its line.

``functions → shardlane``, ``shardlane_lab → shardlane``, ``shardlane → standard library and
Powertools`` (boto3 only inside a function, where it is needed), ``stacks`` nothing of the others
but the settings' field names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OURS = ("shardlane", "shardlane_lab", "stacks", "functions", "tests", "bench", "tools")
POWERTOOLS = "aws_lambda_powertools"


@dataclass(frozen=True)
class Rule:
    """What the files below ``folder`` may import beside the standard library and themselves."""

    folder: str
    itself: str
    top_level: tuple[str, ...]
    """Modules (and all below them) allowed anywhere in the file."""
    lazily: tuple[str, ...] = ()
    """Modules allowed only inside a function, so that importing the file stays cheap."""
    open_world: bool = False
    """True where any third-party package is fine and only our own are restricted."""


RULES = (
    Rule(
        "layers/shardlane/python/shardlane",
        "shardlane",
        (POWERTOOLS,),
        lazily=("boto3", "botocore", "pydantic"),
    ),
    Rule("functions", "", ("boto3", "botocore", POWERTOOLS, "shardlane")),
    Rule("lab/shardlane_lab", "shardlane_lab", ("shardlane",), open_world=True),
    Rule("stacks", "stacks", ("shardlane.settings",), open_world=True),
)


def imports(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Every imported module with its line, and whether that is at the top level of the file.

    An import under ``if TYPE_CHECKING`` costs nothing and does not count.
    """
    for node in tree.body:
        yield from _imports_below(node, top_level=True)


def _imports_below(node: ast.AST, *, top_level: bool) -> Iterator[tuple[str, int, bool]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, node.lineno, top_level
    elif isinstance(node, ast.ImportFrom):
        yield "." * node.level + (node.module or ""), node.lineno, top_level
    elif not _is_type_checking(node):
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from _imports_below(child, top_level=top_level and not inside)


def _is_type_checking(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def allowed(module: str, rule: Rule, *, top_level: bool) -> bool:
    root = module.split(".")[0]
    if root in sys.stdlib_module_names or (rule.itself and root == rule.itself):
        return True
    if any(module == name or module.startswith(name + ".") for name in rule.top_level):
        return True
    if root in rule.lazily:
        return not top_level
    return rule.open_world and root not in OURS and not module.startswith(".")


def breaches(root: Path) -> Iterator[str]:
    for rule in RULES:
        for path in sorted((root / rule.folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for module, line, top_level in imports(tree):
                if not allowed(module, rule, top_level=top_level):
                    lazily = module.split(".")[0] in rule.lazily
                    where = f"{module} at the top level" if lazily else module
                    yield f"{path.relative_to(root)}:{line}: must not import {where}"


def main() -> int:
    found = list(breaches(Path(__file__).parent.parent))
    print("\n".join(found) or "import directions: as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
