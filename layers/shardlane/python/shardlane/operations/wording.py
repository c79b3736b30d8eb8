"""Times, durations and keys as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from shardlane.parking.place import key_hash

HASH_DIGITS = 12
_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration(ms: float) -> str:
    """``"2 d 3 h"``, ``"12 min 4 s"``, ``"850 ms"``: the two largest units that are not 0."""
    if ms < 1000:
        return f"{max(0.0, ms):.0f} ms"
    seconds, parts = int(ms // 1000), []
    for size, unit in _STEPS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def moment(ms: float) -> str:
    """UTC to the second."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def shown_key(key: str, *, in_clear: bool) -> str:
    """A key may be personal data: without ``in_clear`` the start of its SHA-256, which is also
    how a parking table names it."""
    return key if in_clear else f"sha256:{key_hash(key)[:HASH_DIGITS]}…"


def counted(count: int, thing: str) -> str:
    """``"1 key"``, ``"2 keys"``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def bytes_text(size: int) -> str:
    return f"{size:,} bytes"


def table(rows: Sequence[tuple[str, ...]], headings: tuple[str, ...]) -> list[str]:
    """Aligned columns, two spaces apart; the last one is as long as it is."""
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *rows)
    ]
