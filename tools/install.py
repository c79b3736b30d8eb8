"""Installs the pinned dependencies and the two packages of this repository into the running
environment, and the foreign clients that the contract suite runs beside it: with uv (seconds) where
it can be had, else with pip (two minutes)."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("-e", ".", "-e", "lab")
CLIENTS = ROOT / ".venv" / "clients"
"""A virtual environment of their own: they need another botocore than this project's."""

Install = Callable[[Path, Iterable[str]], bool]
"""Installs requirements into the environment of an interpreter; False if that failed."""


def run(*command: str | Path, folder: Path = ROOT) -> bool:
    return subprocess.run([str(part) for part in command], cwd=folder, check=False).returncode == 0


def with_uv(python: Path, what: Iterable[str]) -> bool:
    # As pip does: a company's own certificate authority is in the system's certificates only.
    uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--system-certs")
    return run(*uv, "--python", python, *what)


def with_pip(python: Path, what: Iterable[str]) -> bool:
    return run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def install_python(install: Install) -> bool:
    here = Path(sys.executable)
    clients = CLIENTS / "bin" / "python"
    return (
        install(here, ("-r", "requirements.txt"))
        and install(here, ("--no-deps", *PACKAGES))
        and install(clients, ("-r", "tests/contract/requirements-clients.txt"))
    )


def install_javascript() -> bool:
    quiet = ("--silent", "--no-audit", "--no-fund", "--no-update-notifier")
    return run("npm", "ci", *quiet, folder=ROOT / "tests" / "contract" / "js")


def main() -> int:
    venv.create(CLIENTS, with_pip=True, symlinks=True)
    has_uv = with_pip(Path(sys.executable), ("uv",))
    installed = has_uv and install_python(with_uv)
    if not installed:
        print("Without uv: with pip, which takes some minutes …", flush=True)
        installed = install_python(with_pip)
    return 0 if installed and install_javascript() else 1


if __name__ == "__main__":
    sys.exit(main())
