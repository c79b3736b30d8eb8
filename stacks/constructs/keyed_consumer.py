"""Connects a function to a stream: it gets batches, may fail in part, is never held up for ever,
and what goes wrong is told."""

from __future__ import annotations

from typing import cast

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .consumer_alarms import AlarmProps, ConsumerAlarms, Watched
from .mapping_props import MappingProps
from .on_failure import OnFailureQueue, destination_of
from .parking_lot import LotPart, ParkingLot
from .policy import Policy
from .stream_source import StreamSource, source_of


class KeyedConsumer(Construct):
    """An event source mapping for a function that uses ``KeyedBatchProcessor``.

    It brings the parking lot, the on-failure queue, the grants and the alarms that go with the
    mapping. Every part that keeps data is there under every policy: swapping policies changes
    settings and replaces or deletes nothing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: lambda_.IFunction,
        source: kinesis.IStream | kinesis.IStreamConsumer,
        consumer: str | LotPart,
        mapping: MappingProps | None = None,
        on_failure: sqs.IQueue | s3.IBucket | None = None,
        alarms: AlarmProps | None = AlarmProps(),  # noqa: B008
    ) -> None:
        """``source``: the stream (shared throughput) or a registered consumer of it (enhanced
        fan-out). ``consumer``: the mapping's own name in a lot of its own, or ``lot.part(name)``;
        another name forgets what is parked under the old one. ``on_failure``: where a batch goes
        that was given up; default: a queue of its own. ``alarms=None`` leaves the alarms out.

        A ``Function`` gets the variables of ``environment``; any other ``IFunction`` has to be
        given them where it is made.
        """
        super().__init__(scope, construct_id)
        self.props = mapping or MappingProps()
        self.source = source_of(source)
        self.part = consumer if isinstance(consumer, LotPart) else self._own_lot(consumer)
        self.on_failure = on_failure or OnFailureQueue(self, "OnFailure")
        self.mapping = self._mapping(function)
        self._grant(function)
        if isinstance(function, lambda_.Function):
            for name, value in self.environment.items():
                function.add_environment(name, value)
        if alarms is not None:
            self.alarms = ConsumerAlarms(self, "Alarms", self._watched(function), alarms)

    @property
    def environment(self) -> dict[str, str]:
        """What ``shardlane.settings`` reads: the policy and the lot."""
        return {"FAILURE_POLICY": self.props.policy.value, **self.part.environment}

    @property
    def mapping_id(self) -> str:
        """The mapping's UUID: the dimension of its metrics."""
        return self.mapping.event_source_mapping_id

    def _own_lot(self, consumer: str) -> LotPart:
        return ParkingLot(self, "Lot").part(consumer)

    def _mapping(self, function: lambda_.IFunction) -> lambda_.EventSourceMapping:
        props = self.props
        mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=function,
            event_source_arn=self.source.arn,
            batch_size=props.batch_size,
            max_batching_window=Duration.seconds(props.batching_window_s),
            parallelization_factor=props.parallelization_factor,
            starting_position=lambda_.StartingPosition[props.starting_position],
            starting_position_timestamp=props.starting_timestamp_s,
            retry_attempts=props.retries,
            bisect_batch_on_error=props.bisect_on_error,
            # Without it the answer of the function is not read: any partial failure would count
            # as success.
            report_batch_item_failures=True,
            on_failure=destination_of(self.on_failure),
            # Else a bucket is refused: most kinds of source cannot have one.
            support_s3_on_failure_destination=True,
            metrics_config=lambda_.MetricsConfig(metrics=[lambda_.MetricType.EVENT_COUNT]),
        )
        # The L2 property knows no endless age. Leaving the age out would not do: an update without
        # it keeps the age that the mapping has.
        resource = cast(lambda_.CfnEventSourceMapping, mapping.node.default_child)
        resource.maximum_record_age_in_seconds = props.age_s
        return mapping

    def _grant(self, function: lambda_.IFunction) -> None:
        """Lambda checks the role when the mapping is created: the grants have to be there first."""
        grants: list[iam.Grant] = self.source.grant_read(function)
        if self.props.policy is Policy.PARK:
            grants += self.part.lot.grant_park(function)
        for grant in grants:
            grant.apply_before(self.mapping)

    def _watched(self, function: lambda_.IFunction) -> Watched:
        return watched(
            function.function_name, self.mapping_id, self.part.consumer, self.source, self.props
        )


def watched(
    function_name: str, mapping_id: str, consumer: str, source: StreamSource, props: MappingProps
) -> Watched:
    """Where the consumer's metrics are found, by the names of this app's resources."""
    fan_out = source.consumer
    return Watched(
        function_name=function_name,
        mapping_id=mapping_id,
        consumer=consumer,
        stream_name=source.stream.stream_name,
        stream_consumer_name=fan_out.stream_consumer_name if fan_out else None,
        parks=props.policy is Policy.PARK,
    )
