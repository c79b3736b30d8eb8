"""Says what is missing on this machine before anything is installed. Runs on any Python 3."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

PYTHON = (3, 11)
NODE = 20


def problems() -> Iterator[str]:
    """Sentences about what is missing; none if all is there."""
    if sys.version_info < PYTHON:
        found = ".".join(str(part) for part in sys.version_info[:3])
        yield (
            "Python 3.11 or newer is needed, this is " + found + " (" + sys.executable + ")."
            " Name another one: make setup PYTHON=/path/to/python3.11"
        )
    try:
        import ensurepip
        import venv

        assert ensurepip
        assert venv
    except ImportError:
        yield "Python's venv module is missing. On Debian: apt-get install python3-venv"
    node = shutil.which("node")
    if node is None:
        yield "Node.js 20 or newer is needed (the AWS CDK runs on it); `node` is not on the PATH."
        return
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = version.stdout.strip().lstrip("v")
    if not found.split(".")[0].isdigit() or int(found.split(".")[0]) < NODE:
        yield "Node.js 20 or newer is needed, " + node + " is " + (found or "unknown") + "."


if __name__ == "__main__":
    found_problems = list(problems())
    for problem in found_problems:
        print("shardlane: " + problem, file=sys.stderr)
    sys.exit(1 if found_problems else 0)
