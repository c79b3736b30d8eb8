"""How figures are written for people."""

from __future__ import annotations

import math

NOTHING = "–"
"""Stands where a run has no such figure."""


def ms_text(value_ms: float | None) -> str:
    """One decimal: ``1,364.7``."""
    return NOTHING if value_ms is None else f"{_no_minus_zero(value_ms):,.1f}".replace("-", "−")


def count_text(value: float | None) -> str:
    """Whole numbers without decimals: ``3,000``, ``12.5``."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent_text(share: float | None) -> str:
    """A part of one in percent, without the sign: ``68.3``."""
    return NOTHING if share is None else f"{share * 100:.1f}"


def ratio_text(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:,.2f}"


def difference_text(value_ms: float | None) -> str:
    """With its sign: ``+12.3``, ``−0.4``."""
    if value_ms is None:
        return NOTHING
    value_ms = _no_minus_zero(value_ms)
    sign = "+" if value_ms > 0 else "−" if value_ms < 0 else ""
    return f"{sign}{abs(value_ms):,.1f}"


def duration_text(value_ms: float) -> str:
    """Two significant digits, as a sentence wants them: ``68 ms``, ``0.16 s``, ``7.4 s``, ``12 s``.

    Below 10 ms one decimal is kept: ``3.4 ms``.
    """
    if abs(value_ms) < 10:
        return f"{_no_minus_zero(value_ms):.1f} ms"
    if abs(value_ms) < 99.5:
        return f"{value_ms:.0f} ms"
    value_s = float(f"{value_ms / 1000:.2g}")
    decimals = max(0, 1 - math.floor(math.log10(abs(value_s))))
    return f"{value_s:.{decimals}f} s"


def plural(count: float, one: str, many: str | None = None) -> str:
    """``1 record``, ``3,000 records``; ``many`` where an s is not enough."""
    return f"{count_text(count)} {one if count == 1 else many or f'{one}s'}"


def _no_minus_zero(value: float) -> float:
    return 0.0 if abs(value) < 0.05 else value
