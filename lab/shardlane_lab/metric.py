"""Service metrics of a run: what the local services emit, and the per-minute rows that reports
read. Names, namespaces and dimensions are CloudWatch's own, so that a run on AWS fills the same
rows from ``GetMetricData``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT_VALUES = 500
"""Of a metric and minute: a percentile is exact up to that many values, and beyond them off by no
more than 0.2 % of the ranks."""

Dimensions = tuple[tuple[str, str], ...]
"""Sorted ``(name, value)`` pairs, e.g. ``(("StreamName", "order-events"),)``."""


@dataclass(frozen=True, slots=True)
class Datum:
    """One measured value at ``at_ms`` (epoch milliseconds)."""

    namespace: str
    """``AWS/Kinesis`` or ``AWS/Lambda``."""
    name: str
    dimensions: Dimensions
    value: float
    at_ms: float
    unit: str = "Count"


Observer = Callable[[Datum], None]
"""Told of every datum by whoever measures it; must not block."""


def dimensions(**values: str) -> Dimensions:
    return tuple(sorted(values.items()))


@dataclass(frozen=True, slots=True)
class MinuteStatistic:
    """The data of one metric in one minute; ``minute`` counts from the start of the run."""

    namespace: str
    name: str
    dimensions: Dimensions
    minute: int
    sum: float
    count: int
    minimum: float
    maximum: float
    values: tuple[float, ...] = ()
    """Ascending: every value, or ``KEPT_VALUES`` of them evenly by rank, the smallest and the
    largest among them. Empty where all are equal."""
    unit: str = ""
    """CloudWatch's name of it, such as ``Milliseconds``; empty in runs that kept none."""

    @property
    def average(self) -> float:
        return self.sum / self.count


def per_minute(data: Iterable[Datum], start_ms: float) -> list[MinuteStatistic]:
    """Statistics per metric and minute, sorted; a datum before ``start_ms`` is left out."""
    groups: dict[tuple[str, str, Dimensions, int], list[float]] = {}
    units: dict[tuple[str, str, Dimensions, int], str] = {}
    for datum in data:
        if datum.at_ms < start_ms:
            continue
        minute = int((datum.at_ms - start_ms) // 60_000)
        key = (datum.namespace, datum.name, datum.dimensions, minute)
        groups.setdefault(key, []).append(datum.value)
        units.setdefault(key, datum.unit)
    return [_statistic(key, groups[key], units[key]) for key in sorted(groups)]


def _statistic(
    key: tuple[str, str, Dimensions, int], values: list[float], unit: str
) -> MinuteStatistic:
    values = sorted(values)
    low, high = values[0], values[-1]
    kept = () if low == high else tuple(_evenly(values))
    return MinuteStatistic(*key, sum(values), len(values), low, high, kept, unit)


def _evenly(values: list[float]) -> list[float]:
    if len(values) <= KEPT_VALUES:
        return values
    last = len(values) - 1
    return [values[round(step * last / (KEPT_VALUES - 1))] for step in range(KEPT_VALUES)]


def write_statistics(path: Path, rows: Iterable[MinuteStatistic]) -> None:
    """JSON lines; dimensions as an object."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            values = asdict(row) | {"dimensions": dict(row.dimensions)}
            if not row.values:
                del values["values"]
            file.write(json.dumps(values, separators=(",", ":")) + "\n")


def read_statistics(path: Path) -> list[MinuteStatistic]:
    """Raises ``ValueError`` naming the line that is damaged."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values = json.loads(line)
            values["dimensions"] = dimensions(**values["dimensions"])
            values["values"] = tuple(values.get("values", ()))
            rows.append(MinuteStatistic(**values))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a metric's minute: {error}") from error
    return rows
