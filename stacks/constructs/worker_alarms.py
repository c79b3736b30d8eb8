"""The alarms of the long-running consumer, on what its processes tell of themselves.

``docs/runbooks.md`` says what to do about each.
"""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .alarm_rule import LESS_THAN, MORE_THAN, NO_DATA_IS_BAD, AlarmGroup, Rule
from .consumer_alarms import AlarmProps
from .metrics import worker_metric

STUCK_AFTER_S = 300
"""A checkpoint is written at most once a second while records are settled."""


class WorkerAlarms(AlarmGroup):
    """Each metric is of all processes of one application: its maximum is that of the worst."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stream_name: str,
        application: str,
        props: AlarmProps,
    ) -> None:
        super().__init__(scope, construct_id, whose=application, topic=props.topic)
        self._stream_name = stream_name
        self._application = application
        self._silent(props)
        self._late(props)
        self._stuck()

    def _silent(self, props: AlarmProps) -> None:
        minutes = props.silent_after_min
        self.add(
            "silent",
            self._metric("OwnedShards", "SampleCount"),
            Rule(comparison=LESS_THAN, breaching=minutes, of_last=minutes, missing=NO_DATA_IS_BAD),
            f"records are not read: no worker has told how it does for {minutes} minutes.",
        )

    def _late(self, props: AlarmProps) -> None:
        lag = self._metric("Lag")
        self.add(
            "late",
            lag,
            _above(props.late_after_s * 1_000),
            f"records wait more than {props.late_after_s} s: the oldest one that is not settled is "
            "older, or a reader is further behind.",
        )
        self.add(
            "losing",
            lag,
            _above(props.losing_after_ms),
            f"records wait {props.losing_after_ms // 3_600_000} h, which is half of the stream's "
            "retention: raise the retention now, then find what holds them up.",
        )
        self.add(
            "gaps",
            self._metric("Gaps", "Sum"),
            Rule(),
            "records are lost: a checkpoint was older than the stream's retention, and reading "
            "went on at the oldest record that there was.",
        )

    def _stuck(self) -> None:
        self.add(
            "checkpoint-age",
            self._metric("CheckpointAge"),
            _above(STUCK_AFTER_S * 1_000),
            f"records have arrived, and the checkpoint behind them is older than {STUCK_AFTER_S} "
            "s: the first of them is not settled. After a restart all are delivered again.",
        )
        self.add(
            "held-up",
            self._metric("KeysHeldUp"),
            Rule(breaching=3, of_last=5),
            "records of at least one key wait behind one that failed, under the policy stop. When "
            "10,000 of a shard do, its other keys wait too.",
        )

    def _metric(self, name: str, statistic: str = "Maximum") -> cloudwatch.Metric:
        return worker_metric(name, self._stream_name, self._application, statistic=statistic)


def _above(threshold: float) -> Rule:
    return Rule(threshold=threshold, breaching=3, of_last=5, comparison=MORE_THAN)
