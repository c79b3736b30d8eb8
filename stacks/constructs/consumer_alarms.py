"""The alarms of one consumer. Each description says what happened and what it means."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.constructs.metrics import iterator_age, mapping_metric

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
MORE_THAN = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Of the last ``of_last`` values, ``breaching`` over the threshold raise the alarm."""

    threshold: float
    breaching: int = 1
    of_last: int = 1
    comparison: cloudwatch.ComparisonOperator = AT_LEAST


class ConsumerAlarms(Construct):
    """On what one function's mapping failed to hand over, dropped or gave up, and on lateness.

    Lambda's own ``Errors`` is not among them: a partial failure leaves it at 0.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function_name: str,
        mapping_id: str,
        late_after_s: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self._function_name = function_name
        self._mapping_id = mapping_id
        self._failed()
        self._dropped()
        self._on_failure()
        self._late(late_after_s)

    def _failed(self) -> None:
        self._alarm(
            "failed",
            self._events("FailedInvokeEventCount"),
            _Rule(threshold=1, breaching=3, of_last=5),
            "records failed in 3 of the last 5 minutes. One failure is retried and may pass; this "
            "has not passed, and holds up its shard.",
        )

    def _dropped(self) -> None:
        self._alarm(
            "dropped",
            self._events("DroppedEventCount"),
            _Rule(threshold=1),
            "records were given up and the on-failure queue could not be told: Lambda counts as "
            "dropped only what did not reach it. Look at the queue's policy and the role.",
        )

    def _on_failure(self) -> None:
        self._alarm(
            "on-failure",
            self._events("OnFailureDestinationDeliveredEventCount"),
            _Rule(threshold=1),
            "records were given up, after their retries or their maximum age ran out; the order of "
            "their keys is broken. The on-failure queue says which they are: read them again from "
            "the stream before its retention passes.",
        )

    def _late(self, late_after_s: int) -> None:
        # 3 of 5: the first read of an idle shard or of a new mapping can report one absurd age.
        self._alarm(
            "iterator-age",
            iterator_age(self._function_name),
            _Rule(threshold=late_after_s * 1_000, breaching=3, of_last=5, comparison=MORE_THAN),
            f"records are read more than {late_after_s} s after they arrived. If the age goes on "
            "growing up to the stream's retention, records are lost.",
        )

    def _events(self, name: str) -> cloudwatch.Metric:
        return mapping_metric(name, self._mapping_id)

    def _alarm(self, what: str, metric: cloudwatch.Metric, rule: _Rule, reason: str) -> None:
        cloudwatch.Alarm(
            self,
            what,
            alarm_name=f"{self._function_name}-{what}",
            alarm_description=f"{self._function_name}: {reason}",
            metric=metric,
            threshold=rule.threshold,
            comparison_operator=rule.comparison,
            evaluation_periods=rule.of_last,
            datapoints_to_alarm=rule.breaching,
            # There are values only while there are records: no records is no failure.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
