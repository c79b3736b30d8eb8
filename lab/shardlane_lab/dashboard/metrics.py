"""The metrics that a dashboard is drawn with: of a run, or of the local stack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shardlane_lab.dashboard.series import Metric
from shardlane_lab.metric import Dimensions, MinuteStatistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time that is drawn."""

    start_ms: float
    """Epoch milliseconds; minute 0 of the rows starts here."""
    minutes: int

    def starts(self, minutes_a_period: int) -> range:
        """Of all periods in it."""
        return range(0, max(1, self.minutes), minutes_a_period)


@dataclass(frozen=True)
class RecordedMetrics:
    rows: Sequence[MinuteStatistic]
    window: Window
    _by_name: dict[tuple[str, str, Dimensions], list[MinuteStatistic]] = field(
        init=False, repr=False, default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        for row in self.rows:
            self._by_name[row.namespace, row.name, row.dimensions].append(row)

    def of(self, metric: Metric) -> Sequence[MinuteStatistic]:
        """Its minutes; empty where the run has none. Dimensions have to be the same set, as in
        CloudWatch: there is no metric that sums over those which one leaves out."""
        return self._by_name.get((metric.namespace, metric.name, metric.dimensions), ())


def window_of(rows: Iterable[MinuteStatistic], start_ms: float, lasted_s: float) -> Window:
    """From the start to the last minute that has anything."""
    last = max((row.minute for row in rows), default=0)
    return Window(start_ms=start_ms, minutes=max(last + 1, round(lasted_s / 60)))
