"""Reports functions over 60 lines or 8 parameters and files over 400 lines. A report, not a
verdict: it fails only on what is not listed as accepted, with its reason."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FUNCTION_LINES = 60
PARAMETERS = 8
FILE_LINES = 400

ACCEPTED: dict[str, str] = {}
"""``path`` or ``path:function`` → why it may be longer."""


def findings(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of place and sentence."""
    source = path.read_text(encoding="utf-8")
    lines = source.count("\n")
    if lines > FILE_LINES:
        yield str(path), f"{path}: {lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            given = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
            parameters = len([name for name in given if name not in ("self", "cls")])
            if length > FUNCTION_LINES or parameters > PARAMETERS:
                place = f"{path}:{node.name}"
                yield (
                    place,
                    f"{path}:{node.lineno} {node.name}: {length} lines, {parameters} parameters",
                )


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], capture_output=True, text=True, check=True
    ).stdout.split()
    found = [
        sentence
        for name in listed
        if not name.startswith("tests/") and Path(name).is_file()
        for place, sentence in findings(Path(name))
        if place not in ACCEPTED
    ]
    print("\n".join(found) or "code shape: no function over 60 lines, no file over 400")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
