"""Service metrics of a run: what the local services emit, and the per-minute rows that reports
read. Names, namespaces and dimensions are CloudWatch's own, so that a run on AWS fills the same
rows from ``GetMetricData``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

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

    @property
    def average(self) -> float:
        return self.sum / self.count


def per_minute(data: Iterable[Datum], start_ms: float) -> list[MinuteStatistic]:
    """Statistics per metric and minute, sorted; a datum before ``start_ms`` is left out."""
    groups: dict[tuple[str, str, Dimensions, int], list[float]] = {}
    for datum in data:
        if datum.at_ms < start_ms:
            continue
        minute = int((datum.at_ms - start_ms) // 60_000)
        group = groups.setdefault((datum.namespace, datum.name, datum.dimensions, minute), [])
        group.append(datum.value)
    return [
        MinuteStatistic(*group, sum(values), len(values), min(values), max(values))
        for group, values in sorted(groups.items())
    ]


def write_statistics(path: Path, rows: Iterable[MinuteStatistic]) -> None:
    """JSON lines; dimensions as an object."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            values = asdict(row) | {"dimensions": dict(row.dimensions)}
            file.write(json.dumps(values, separators=(",", ":")) + "\n")


def read_statistics(path: Path) -> list[MinuteStatistic]:
    """Raises ``ValueError`` naming the line that is damaged."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values = json.loads(line)
            values["dimensions"] = dimensions(**values["dimensions"])
            rows.append(MinuteStatistic(**values))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a metric's minute: {error}") from error
    return rows
