"""Notices that somebody has edited a function's code, so that the next invocation runs the new."""

from __future__ import annotations

from pathlib import Path

Fingerprint = frozenset[tuple[Path, int, int]]


class CodeWatch:
    """Of one folder, from the moment of its making."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = fingerprint(folder)

    def edited(self) -> bool:
        """Whether the folder is not what it was when it was last asked. It reads the disk."""
        before, self._seen = self._seen, fingerprint(self._folder)
        return self._seen != before


def fingerprint(folder: Path) -> Fingerprint:
    """Path, time of change (ns) and size (bytes) of each file below ``folder``, without compiled
    ones."""
    found = set()
    for path in folder.rglob("*"):
        if "__pycache__" in path.parts or not path.is_file():
            continue
        try:
            status = path.stat()
        except FileNotFoundError:  # an editor's file that came and went
            continue
        found.add((path, status.st_mtime_ns, status.st_size))
    return frozenset(found)
