"""An alarm with dimensions, a rule for missing data and a reason."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
MORE_THAN = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
LESS_THAN = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
NO_DATA_IS_GOOD = cloudwatch.TreatMissingData.NOT_BREACHING
NO_DATA_IS_BAD = cloudwatch.TreatMissingData.BREACHING
NO_DATA_CHANGES_NOTHING = cloudwatch.TreatMissingData.IGNORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Of the last ``of_last`` values, ``breaching`` over the threshold raise the alarm."""

    threshold: float = 1
    breaching: int = 1
    of_last: int = 1
    comparison: cloudwatch.ComparisonOperator = AT_LEAST
    missing: cloudwatch.TreatMissingData = NO_DATA_IS_GOOD
    """Most metrics have values only while there are records: no records is no failure."""


class AlarmGroup(Construct):
    """Alarms whose names and descriptions begin with whose they are."""

    def __init__(
        self, scope: Construct, construct_id: str, *, whose: str, topic: sns.ITopic | None
    ) -> None:
        super().__init__(scope, construct_id)
        self._whose = whose
        self._topic = topic

    def add(self, what: str, metric: cloudwatch.Metric, rule: Rule, reason: str) -> None:
        alarm = cloudwatch.Alarm(
            self,
            what,
            alarm_name=f"{self._whose}-{what}",
            alarm_description=f"{self._whose}: {reason}",
            metric=metric,
            threshold=rule.threshold,
            comparison_operator=rule.comparison,
            evaluation_periods=rule.of_last,
            datapoints_to_alarm=rule.breaching,
            treat_missing_data=rule.missing,
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
            alarm.add_ok_action(actions.SnsAction(self._topic))
