"""Notices that somebody edits a function's code, so that the local stack can go on with the new."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from shardlane_lab.local_lambda.function import LocalFunction

LOOK_EVERY_S = 0.5

Fingerprint = frozenset[tuple[Path, int, int]]


def fingerprint(folder: Path) -> Fingerprint:
    """Path, time of change and size of each file below ``folder``, without compiled ones."""
    found = set()
    for path in folder.rglob("*"):
        if "__pycache__" in path.parts:
            continue
        try:
            status = path.stat()
        except FileNotFoundError:  # an editor's file that came and went
            continue
        if path.is_file():
            found.add((path, status.st_mtime_ns, status.st_size))
    return frozenset(found)


async def follow_code(functions: Iterable[LocalFunction], on_change: Callable[[str], None]) -> None:
    """Until cancelled: reloads each function whose folder changed, and tells its name."""
    seen = {each: fingerprint(each.config.code_folder) for each in functions}
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        for function, before in seen.items():
            now = await asyncio.to_thread(fingerprint, function.config.code_folder)
            if now != before:
                seen[function] = now
                await function.reload()
                on_change(function.config.name)
