"""Checks who may import whom. The rules are data; a breach is printed with its line.

``functions → shardlane``, ``shardlane_lab → shardlane``, ``shardlane → standard library and
Powertools``, ``stacks`` nothing of the others but the settings' field names. In ``shardlane`` boto3
is loaded where it is needed and not before: no module that a handler or a user names reaches it by
imports at the top level.
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
    """Modules that importing one of ``entries`` must not load."""
    entries: tuple[str, ...] = ()
    siblings: bool = False
    """Whether files may name those beside them without the package: ``from .metrics import``."""
    open_world: bool = False
    """True where any third-party package is fine and only our own are restricted."""


RULES = (
    Rule(
        "layers/shardlane/python/shardlane",
        "shardlane",
        (POWERTOOLS,),
        lazily=("boto3", "botocore", "httptools", "pydantic", "rich", "yaml"),
        entries=("shardlane", "shardlane.latency", "shardlane.settings", "shardlane.clock"),
    ),
    Rule("functions", "", ("boto3", "botocore", POWERTOOLS, "shardlane")),
    Rule("lab/shardlane_lab", "shardlane_lab", ("shardlane",), open_world=True),
    Rule("stacks", "stacks", ("shardlane.settings",), siblings=True, open_world=True),
    # A package of its own in the wheel, `shardlane_cdk`: it knows no `stacks`.
    Rule("stacks/constructs", "", (), siblings=True, open_world=True),
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


def allowed(module: str, rule: Rule) -> bool:
    root = module.split(".")[0]
    if root in sys.stdlib_module_names or (rule.itself and root == rule.itself):
        return True
    if any(module == name or module.startswith(name + ".") for name in rule.top_level):
        return True
    if rule.siblings and module.startswith(".") and not module.startswith(".."):
        return True
    if root in rule.lazily:
        return True  # whether it is reached too early is for `eager_breaches` to say
    return rule.open_world and root not in OURS and not module.startswith(".")


def breaches(root: Path) -> Iterator[str]:
    for rule in RULES:
        for path in sorted((root / rule.folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for module, line, _ in imports(tree):
                if not allowed(module, rule):
                    yield f"{path.relative_to(root)}:{line}: must not import {module}"
        if rule.lazily:
            yield from eager_breaches(top_level_imports(root, rule), rule)


def top_level_imports(root: Path, rule: Rule) -> dict[str, set[str]]:
    """For every module below the rule's folder, what it imports at its top level."""
    folder = root / rule.folder
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = (rule.itself, *path.relative_to(folder).with_suffix("").parts)
        module = ".".join(part for part in parts if part != "__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[module] = {name for name, _, top_level in imports(tree) if top_level}
    return found


def eager_breaches(imported: dict[str, set[str]], rule: Rule) -> Iterator[str]:
    """The way from each entry of the package to a module that must not be loaded with it."""
    for entry in rule.entries:
        way = _way_to_lazy(entry, imported, rule, (entry,))
        if way:
            yield f"importing {entry} loads {way[-1]}: {' → '.join(way)}"


def _way_to_lazy(
    module: str, imported: dict[str, set[str]], rule: Rule, way: tuple[str, ...]
) -> tuple[str, ...]:
    for name in sorted(imported.get(module, ())):
        if name.split(".")[0] in rule.lazily:
            return (*way, name)
        if name not in way and (found := _way_to_lazy(name, imported, rule, (*way, name))):
            return found
    return ()


def main() -> int:
    found = list(breaches(Path(__file__).parent.parent))
    print("\n".join(found) or "import directions: as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
