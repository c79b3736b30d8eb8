"""Connects a function to a stream so that it gets batches, may fail in part, and is never held up
for ever."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.on_failure_queue import QueueDestination
from stacks.constructs.stream_source import StreamSource


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingProps:
    """The parameters of an event source mapping on Kinesis (Lambda API,
    CreateEventSourceMapping); its ranges and defaults are the caller's business."""

    batch_size: int
    batching_window_s: int
    parallelization_factor: int
    starting_position: str
    """``LATEST`` or ``TRIM_HORIZON``. Another value replaces the mapping."""
    retry_attempts: int
    max_record_age_s: int
    bisect_on_error: bool


class KeyedConsumer(Construct):
    """An event source mapping for a function that reports its lowest unsettled record."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: lambda_.IFunction,
        source: StreamSource,
        mapping: MappingProps,
        on_failure: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        for statement in source.statements:
            function.add_to_role_policy(statement)
        self.mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=function,
            event_source_arn=source.arn,
            batch_size=mapping.batch_size,
            max_batching_window=Duration.seconds(mapping.batching_window_s),
            parallelization_factor=mapping.parallelization_factor,
            starting_position=lambda_.StartingPosition[mapping.starting_position],
            retry_attempts=mapping.retry_attempts,
            max_record_age=Duration.seconds(mapping.max_record_age_s),
            bisect_batch_on_error=mapping.bisect_on_error,
            # Without it the answer of the function is not read: any partial failure would count
            # as success.
            report_batch_item_failures=True,
            on_failure=QueueDestination(on_failure),
            metrics_config=lambda_.MetricsConfig(metrics=[lambda_.MetricType.EVENT_COUNT]),
        )

    @property
    def mapping_id(self) -> str:
        """The mapping's UUID: the dimension of its metrics."""
        return self.mapping.event_source_mapping_id
