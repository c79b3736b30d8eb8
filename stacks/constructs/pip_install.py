"""Fills the dependencies layer with pip, for Lambda's platform, whatever machine runs it.

Wheels only, pinned and hashed, so nothing is built and no container is needed. Everything that
could differ between two runs is removed.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

PLATFORM_ARGUMENTS = (
    "--platform=manylinux2014_x86_64",
    "--implementation=cp",
    "--python-version=3.13",
    "--only-binary=:all:",
)
INSTALL_ARGUMENTS = ("install", "--require-hashes", "--no-compile", "--quiet", *PLATFORM_ARGUMENTS)

COMPILED_SUFFIXES = frozenset({".so", ".pyd", ".dylib"})
# Written by the installer about the installation; the licence and metadata files stay.
INSTALLER_NOTES = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})


class BundleError(RuntimeError):
    """The layer could not be filled, or what pip brought must not be in it."""


def install(requirements: Path, target: Path) -> None:
    """Raises ``BundleError`` if this Python has no pip or pip fails."""
    if importlib.util.find_spec("pip") is None:
        raise BundleError(
            f"the dependencies layer is filled with pip, which {sys.executable} does not have: "
            f"run `{sys.executable} -m ensurepip`"
        )
    command = [sys.executable, "-m", "pip", *INSTALL_ARGUMENTS]
    command += [f"--target={target}", f"--requirement={requirements}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BundleError(f"pip could not install {requirements}:\n{done.stderr.strip()}")


def clean(target: Path) -> None:
    """Removes what two installations do not have in common.

    Raises ``BundleError`` for a compiled file: the layer has to work on every architecture.
    """
    compiled = sorted(compiled_files(target))
    if compiled:
        raise BundleError(f"compiled files in the layer: {', '.join(map(str, compiled))}")
    shutil.rmtree(target / "bin", ignore_errors=True)  # scripts; their first line names this Python
    for cache in list(target.rglob("__pycache__")):
        shutil.rmtree(cache)
    for folder in target.glob("*.dist-info"):
        for note in INSTALLER_NOTES:
            (folder / note).unlink(missing_ok=True)


def compiled_files(folder: Path) -> list[Path]:
    """Files under ``folder`` that hold machine code, relative to it."""
    return [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if COMPILED_SUFFIXES.intersection(path.suffixes)
    ]
