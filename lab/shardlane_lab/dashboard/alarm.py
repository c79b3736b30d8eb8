"""Alarms of a template: the rule in words, and the metric that it watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardlane_lab.dashboard.series import Expression, Metric, Series

Properties = Mapping[str, Any]

_COMPARISONS = {
    "GreaterThanOrEqualToThreshold": "≥",
    "GreaterThanThreshold": ">",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "≤",
}
_MISSING = {
    "breaching": "no data counts as breaching",
    "notBreaching": "no data counts as fine",
    "ignore": "no data changes nothing",
    "missing": "without data the state is unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    arn: str
    name: str
    description: str
    series: tuple[Series, ...]
    """The visible one is watched; the others are what an expression needs. Empty for an alarm
    over other alarms."""
    operator: str
    """CloudFormation's ``ComparisonOperator``; empty for an alarm over other alarms."""
    comparison: str
    """The same as a sign."""
    threshold: float | None
    """None where a band is compared with."""
    breaching: int
    """Of the last ``of_last`` periods, so many over the threshold raise it."""
    of_last: int
    missing: str
    """What a period without data counts as: the template's word."""
    rule: str
    """``Sum ≥ 1 in 3 of 5 periods of 60 s; no data counts as fine``."""


def parse_alarm(arn: str, name: str, properties: Properties) -> Alarm:
    series = tuple(_series(properties))
    operator = str(properties.get("ComparisonOperator", ""))
    of_last = int(properties.get("EvaluationPeriods", 1))
    return Alarm(
        arn=arn,
        name=name,
        description=str(properties.get("AlarmDescription", "")),
        series=series,
        operator=operator,
        comparison=_COMPARISONS.get(operator, operator),
        threshold=properties.get("Threshold"),
        breaching=int(properties.get("DatapointsToAlarm", of_last)),
        of_last=of_last,
        missing=str(properties.get("TreatMissingData", "missing")),
        rule=_rule(properties, series) if series else str(properties.get("AlarmRule", "")),
    )


def _rule(properties: Properties, series: Sequence[Series]) -> str:
    watched = next((each for each in series if each.visible), series[0])
    source = watched.source
    what = source.stat if isinstance(source, Metric) else source.text
    operator = str(properties.get("ComparisonOperator", ""))
    of_last = int(properties.get("EvaluationPeriods", 1))
    breaching = int(properties.get("DatapointsToAlarm", of_last))
    periods = f"{breaching} of {of_last} periods" if of_last > 1 else "one period"
    missing = _MISSING[str(properties.get("TreatMissingData", "missing"))]
    threshold = properties.get("Threshold")
    bound = "a band" if threshold is None else f"{threshold:,g}"
    comparison = _COMPARISONS.get(operator, operator)
    return f"{what} {comparison} {bound} in {periods} of {source.period_s} s; {missing}"


def _series(properties: Properties) -> list[Series]:
    if "MetricName" in properties:
        stat = properties.get("Statistic") or properties.get("ExtendedStatistic")
        metric = _metric(properties, str(stat), int(properties["Period"]))
        return [Series(source=metric, label=metric.name)]
    queries = properties.get("Metrics", [])
    period_s = max((q["MetricStat"]["Period"] for q in queries if "MetricStat" in q), default=60)
    return [_of_query(query, int(period_s)) for query in queries]


def _of_query(query: Properties, period_s: int) -> Series:
    visible = bool(query.get("ReturnData", True))
    if "Expression" in query:
        text = str(query["Expression"])
        source: Metric | Expression = Expression(
            text=text, period_s=int(query.get("Period", period_s))
        )
        label = str(query.get("Label") or text)
    else:
        asked = query["MetricStat"]
        metric = _metric(asked["Metric"], str(asked["Stat"]), int(asked["Period"]))
        source, label = metric, str(query.get("Label") or metric.name)
    return Series(source=source, label=label, id=str(query["Id"]), visible=visible)


def _metric(named: Properties, stat: str, period_s: int) -> Metric:
    pairs = sorted((str(d["Name"]), str(d["Value"])) for d in named.get("Dimensions", []))
    return Metric(
        namespace=str(named["Namespace"]),
        name=str(named["MetricName"]),
        dimensions=tuple(pairs),
        stat=stat,
        period_s=period_s,
    )
