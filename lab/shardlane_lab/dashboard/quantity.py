"""Values with CloudWatch's units, as people write them."""

from __future__ import annotations

from collections.abc import Sequence

_THOUSANDS: Sequence[tuple[float, str]] = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def tick_text(value: float, unit: str) -> str:
    """Three significant digits: ``1.25 s``, ``12 k``, ``340 ms``, ``2 MB``."""
    match unit:
        case "Milliseconds" if abs(value) >= 1000:
            return f"{_digits(value / 1000)} s"
        case "Milliseconds":
            return f"{_digits(value)} ms"
        case "Seconds":
            return f"{_digits(value)} s"
        case "Percent":
            return f"{_digits(value)} %"
        case "Bytes":
            number, prefix = _scaled(value)
            return f"{_digits(number)} {prefix}B"
    number, prefix = _scaled(value)
    return f"{_digits(number)} {prefix}".rstrip()


def _scaled(value: float) -> tuple[float, str]:
    for size, prefix in _THOUSANDS:
        if abs(value) >= size:
            return value / size, prefix
    return value, ""


def _digits(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
