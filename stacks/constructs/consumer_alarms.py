"""The alarms of one consumer. Each description says what happened and what it means;
``docs/runbooks.md`` says what to do."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sns as sns
from constructs import Construct

from .alarm_rule import (
    LESS_THAN,
    MORE_THAN,
    NO_DATA_CHANGES_NOTHING,
    NO_DATA_IS_BAD,
    AlarmGroup,
    Rule,
)
from .metrics import (
    batch_metric,
    behind_latest,
    function_metric,
    iterator_age,
    mapping_metric,
    stream_consumer_metric,
    stream_metric,
)

SHARE_OF_RETENTION = 0.5
"""At half of the retention there is as much time left as has been lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Where a consumer's metrics are found."""

    function_name: str
    mapping_id: str
    consumer: str
    """Its name in the parking lot: the dimension of what its processor counts."""
    stream_name: str
    stream_consumer_name: str | None = None
    """Of enhanced fan-out."""
    parks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmProps:
    late_after_s: int = 60
    """Age of a batch above which its consumer counts as late."""
    retention_hours: int = 24
    """The stream's: what is not read by then is lost."""
    parked_after_s: int = 3_600
    """How long a key may be quarantined."""
    silent_after_min: int = 5
    """A mapping that has not polled for as long counts as dead."""
    topic: sns.ITopic | None = None
    """Told when an alarm goes off and when it is over."""

    @property
    def losing_after_ms(self) -> int:
        return int(self.retention_hours * 3_600_000 * SHARE_OF_RETENTION)


class ConsumerAlarms(AlarmGroup):
    """On what one function's mapping failed to hand over, dropped or gave up, on lateness, on what
    is parked, and on a mapping that does nothing.

    Lambda's own ``Errors`` is not among them: a partial failure leaves it at 0.
    """

    def __init__(
        self, scope: Construct, construct_id: str, watched: Watched, props: AlarmProps
    ) -> None:
        super().__init__(scope, construct_id, whose=watched.consumer, topic=props.topic)
        self._watched = watched
        self._props = props
        self._failed()
        self._given_up()
        self._dead()
        self._late()
        self._throttled()
        if watched.parks:
            self._parked()

    def _failed(self) -> None:
        self.add(
            "failed",
            self._events("FailedInvokeEventCount"),
            Rule(breaching=3, of_last=5),
            "records failed in 3 of the last 5 minutes. One failure is retried and may pass; this "
            "has not passed, and holds up its shard.",
        )

    def _given_up(self) -> None:
        self.add(
            "dropped",
            self._events("DroppedEventCount"),
            Rule(),
            "records were given up and the on-failure destination could not be told: Lambda counts "
            "as dropped only what did not reach it. Look at the destination's policy and the role.",
        )
        self.add(
            "on-failure",
            self._events("OnFailureDestinationDeliveredEventCount"),
            Rule(),
            "records were given up, after their retries or their maximum age ran out; the order of "
            "their keys is broken. The on-failure destination says which they are: read them again "
            "from the stream before its retention passes.",
        )
        self.add(
            "destination",
            function_metric("DestinationDeliveryFailures", self._watched.function_name),
            Rule(),
            "records were given up and the message about them was not delivered: only the log "
            "says which they were. Look at the destination, its policy and the role.",
        )

    def _dead(self) -> None:
        minutes = self._props.silent_after_min
        self.add(
            "dead",
            self._events("PolledEventCount", "SampleCount"),
            Rule(comparison=LESS_THAN, breaching=minutes, of_last=minutes, missing=NO_DATA_IS_BAD),
            f"records are not polled: the mapping has not looked for any for {minutes} minutes. An "
            "empty poll counts too, so it is disabled, deleted or may not read the stream.",
        )

    def _late(self) -> None:
        # 3 of 5: the first read of an idle shard or of a new mapping can report one absurd age.
        late_after_s, losing = self._props.late_after_s, self._props.losing_after_ms
        self.add(
            "iterator-age",
            iterator_age(self._watched.function_name),
            _above(late_after_s * 1_000),
            f"records are read more than {late_after_s} s after they arrived. If the age goes on "
            "growing up to the stream's retention, records are lost.",
        )
        self.add(
            "losing",
            iterator_age(self._watched.function_name),
            _above(losing),
            f"records are read {losing // 3_600_000} h after they arrived, which is half of the "
            "stream's retention: raise the retention now, then find what holds them up.",
        )
        name = self._watched.stream_consumer_name
        if name is None:
            return
        self.add(
            "behind",
            behind_latest(self._watched.stream_name, name),
            _above(losing),
            f"records wait {losing // 3_600_000} h for this fan-out consumer, which is half of the "
            "stream's retention. This counts while the function is not invoked at all, too.",
        )

    def _throttled(self) -> None:
        self.add(
            "throttled",
            function_metric("Throttles", self._watched.function_name),
            Rule(breaching=3, of_last=5),
            "records wait because the function was throttled in 3 of the last 5 minutes: the "
            "reserved or the account's concurrency is used up.",
        )
        name = self._watched.stream_consumer_name
        if name is None:
            return
        self.add(
            "subscribe",
            stream_consumer_metric(
                "SubscribeToShard.RateExceeded", self._watched.stream_name, name
            ),
            Rule(breaching=3, of_last=5),
            "records wait because subscriptions were refused in 3 of the last 5 minutes: somebody "
            "else subscribes with this fan-out consumer's name.",
        )

    def _parked(self) -> None:
        age_s = self._props.parked_after_s
        self.add(
            "parked",
            batch_metric("ParkedKeys", self._watched.consumer, statistic="Maximum"),
            Rule(missing=NO_DATA_CHANGES_NOTHING),
            "records of at least one key are parked: the key's later records wait behind the one "
            "that failed. Find out why with `shardlane parked`, then redrive.",
        )
        self.add(
            "parked-age",
            batch_metric("OldestParkedKeyAge", self._watched.consumer, statistic="Maximum"),
            Rule(threshold=age_s, comparison=MORE_THAN, missing=NO_DATA_CHANGES_NOTHING),
            f"records of a key have been parked for more than {age_s} s. Nothing in the lot "
            "expires, and nothing moves it but a redrive.",
        )

    def _events(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return mapping_metric(name, self._watched.mapping_id, statistic=statistic)


class StreamAlarms(AlarmGroup):
    """On what a stream refuses, whoever asked."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stream_name: str,
        topic: sns.ITopic | None = None,
    ) -> None:
        super().__init__(scope, construct_id, whose=stream_name, topic=topic)
        for what, name, reason in (
            (
                "reads-throttled",
                "ReadProvisionedThroughputExceeded",
                "reads were throttled in 3 of the last 5 minutes: more readers share a shard than "
                "its 5 reads and 2 MiB a second carry. Give one of them enhanced fan-out.",
            ),
            (
                "writes-throttled",
                "WriteProvisionedThroughputExceeded",
                "writes were refused in 3 of the last 5 minutes: a shard takes 1,000 records and "
                "1 MiB a second. More shards help, unless one key is hot.",
            ),
        ):
            metric = stream_metric(name, stream_name)
            self.add(what, metric, Rule(breaching=3, of_last=5), reason)


def _above(threshold: float) -> Rule:
    return Rule(threshold=threshold, breaching=3, of_last=5, comparison=MORE_THAN)
