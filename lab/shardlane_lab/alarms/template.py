"""An alarm of a CloudFormation template: what it watches and its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from shardlane_lab.alarms.history import AlarmRule, State, history
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.dashboard.statistic import points
from shardlane_lab.metric import Datum, dimensions, per_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedMetric:
    """An alarm on one metric by the minute."""

    name: str
    metric: Metric
    rule: AlarmRule

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Self:
        """``properties`` of an ``AWS::CloudWatch::Alarm``, resolved. Raises ``ValueError`` for one
        that is not on a single metric with a period of a minute, or that has no dimensions: under
        none, no service publishes anything."""
        name = str(properties.get("AlarmName"))
        if "MetricName" not in properties or properties.get("Period") != 60:
            raise ValueError(f"{name}: allowed is one metric with a period of 60 s")
        pairs = {each["Name"]: str(each["Value"]) for each in properties.get("Dimensions", [])}
        if not pairs:
            raise ValueError(f"{name} has no dimensions, so it never sees a value")
        of_last = int(properties["EvaluationPeriods"])
        return cls(
            name=name,
            metric=Metric(
                namespace=properties["Namespace"],
                name=properties["MetricName"],
                dimensions=dimensions(**pairs),
                stat=properties.get("Statistic") or properties["ExtendedStatistic"],
                period_s=60,
            ),
            rule=AlarmRule(
                comparison=properties["ComparisonOperator"],
                threshold=float(properties["Threshold"]),
                breaching=int(properties.get("DatapointsToAlarm", of_last)),
                of_last=of_last,
                missing=properties.get("TreatMissingData", "missing"),
            ),
        )

    def values(self, data: Iterable[Datum], start_ms: float, minutes: int) -> list[float | None]:
        """The statistic of each of the ``minutes`` from ``start_ms``; ``None`` without data."""
        watched = self.metric
        mine = (
            each
            for each in data
            if (each.namespace, each.name, each.dimensions)
            == (watched.namespace, watched.name, watched.dimensions)
        )
        found = points(watched, per_minute(mine, start_ms))
        return [found.get(minute) for minute in range(minutes)]

    def history(self, data: Iterable[Datum], start_ms: float, minutes: int) -> list[State]:
        """The state after each of the ``minutes`` from ``start_ms``."""
        return history(self.rule, self.values(data, start_ms, minutes))
