"""Handlers for ``shardlane consume``, in a process of its own: what they see goes into a file."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from shardlane import Record

_FILE = os.environ.get("HANDLED_FILE", os.devnull)
_FIXED = Path(os.environ.get("FIXED_FILE", os.devnull))


def _note(record: Record) -> None:
    """One write a record: another process's kill leaves no half line."""
    line = f"{record.text()} {record.partition_key} {record.shard_id} {time.monotonic_ns()}\n"
    descriptor = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def note(record: Record) -> None:
    _note(record)


async def note_async(record: Record) -> None:
    _note(record)


def note_batch(records: Sequence[Record]) -> None:
    for record in records:
        _note(record)


def hang(record: Record) -> None:
    _note(record)
    time.sleep(3600)


def fail_until_fixed(record: Record) -> None:
    """Of alice's records, until a file is there."""
    if record.partition_key == "alice" and not _FIXED.exists():
        raise RuntimeError("boom")
    _note(record)
