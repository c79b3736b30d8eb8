"""Aggregates as the Kinesis Producer Library packs them, small ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from shardlane.aggregate import MAGIC


def aggregated(records: Sequence[tuple[str, bytes]]) -> bytes:
    """An aggregate of (key, data) pairs; keys and data under 128 bytes."""
    keys = sorted({key for key, _ in records})
    message = b"".join(_field(1, key.encode()) for key in keys)
    for key, data in records:
        message += _field(3, bytes([1 << 3, keys.index(key)]) + _field(3, data))
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value
