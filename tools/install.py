"""Installs the pinned dependencies and the two packages of this repository into the running
environment: with uv (seconds) where it can be had, else with pip (two minutes)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGES = ["-e", ".", "-e", "lab"]


def uv_installed() -> bool:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "uv"]
    return subprocess.run(command, check=False).returncode == 0


def install(command: list[str]) -> bool:
    steps = [["-r", "requirements.txt"], ["--no-deps", *PACKAGES]]
    return all(subprocess.run([*command, *step], check=False).returncode == 0 for step in steps)


def main() -> int:
    root = Path(__file__).parent.parent
    if Path.cwd() != root:
        raise SystemExit(f"run this in {root}")
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if uv_installed() and install(uv):
        return 0
    return 0 if install(pip) else 1


if __name__ == "__main__":
    sys.exit(main())
