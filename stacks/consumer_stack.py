"""The same function twice: once on the shared throughput, once on enhanced fan-out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.consumer_function import ConsumerFunction, FunctionProps
from stacks.constructs.keyed_consumer import KeyedConsumer
from stacks.constructs.layers import DependenciesLayer, RuntimeLayer
from stacks.constructs.mapping_props import MappingProps
from stacks.constructs.on_failure import OnFailureBucket, OnFailureQueue
from stacks.constructs.parking_lot import ParkingLot
from stacks.constructs.policy import Policy
from stacks.constructs.scheduled_redrive import ScheduledRedrive
from stacks.setting_rules import SettingsError
from stacks.settings import ConsumerSettings, StageSettings
from stacks.stream_stack import StreamStack, customer_key

STANDARD_LABEL = "lambda-standard"
EFO_LABEL = "lambda-efo"
HANDLER = "handler.lambda_handler"
WHY_LATEST = (
    "Chosen in cdk.json: who compares consumers wants the records of this run, and none that came "
    "before the mapping."
)
LONGEST_S = 900
"""Of a function (Lambda quotas)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wiring:
    """All that the two consumers differ in."""

    name: str
    """In construct ids and in the names of outputs."""
    label: str
    source: kinesis.IStream | kinesis.IStreamConsumer
    settings: ConsumerSettings
    path: str
    """Of the settings, for errors."""


class ConsumerStack(Stack):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        settings: StageSettings,
        *,
        streams: StreamStack,
        sources: Path,
    ) -> None:
        """``sources`` holds the folders ``functions`` and ``layers``. Raises ``SettingsError``."""
        super().__init__(
            scope, construct_id, description="shardlane: the consumers and their mappings"
        )
        self._settings = settings
        self._removal = RemovalPolicy[settings.removal.upper()]
        self._key = customer_key(self, settings)
        self._functions = sources / "functions"
        self._layers = self._both_layers(sources / "layers")
        self.on_failure = self._on_failure()
        self.lot = self._lot()
        path = f"stages.{settings.stage}"
        self.standard = self._consumer(
            _Wiring(
                name="Standard",
                label=STANDARD_LABEL,
                source=streams.stream,
                settings=settings.standard,
                path=f"{path}.standard",
            )
        )
        self.efo = self._consumer(
            _Wiring(
                name="Efo",
                label=EFO_LABEL,
                source=streams.lambda_efo_consumer,
                settings=settings.efo,
                path=f"{path}.efo",
            )
        )
        if settings.load:
            self._load(streams.stream)

    def _both_layers(self, folder: Path) -> list[lambda_.ILayerVersion]:
        return [
            DependenciesLayer(self, "DependenciesLayer", folder=folder / "dependencies"),
            RuntimeLayer(self, "RuntimeLayer", folder=folder / "shardlane"),
        ]

    def _on_failure(self) -> sqs.IQueue | s3.IBucket:
        settings = self._settings
        if settings.on_failure == "bucket":
            bucket = OnFailureBucket(
                self,
                "OnFailureBatches",
                retention_days=settings.on_failure_bucket_days,
                key=self._key,
                removal_policy=self._removal,
            )
            CfnOutput(self, "OnFailureBucketName", value=bucket.bucket_name)
            return bucket
        queue = OnFailureQueue(
            self,
            "OnFailure",
            retention_days=settings.on_failure_retention_days,
            key=self._key,
            removal_policy=self._removal,
        )
        CfnOutput(self, "OnFailureQueueUrl", value=queue.queue_url)
        return queue

    def _lot(self) -> ParkingLot:
        """One for both consumers, each with its part, and under every policy: who changes the
        policy must not lose what is parked."""
        retained = self._removal is RemovalPolicy.RETAIN
        lot = ParkingLot(
            self,
            "Lot",
            with_bucket=self._settings.payload_bucket,
            key=self._key,
            removal_policy=self._removal,
            point_in_time_recovery=retained,
        )
        CfnOutput(self, "ParkingTableName", value=lot.table.table_name)
        if lot.bucket is not None:
            CfnOutput(self, "ParkingBucketName", value=lot.bucket.bucket_name)
        return lot

    def _consumer(self, wiring: _Wiring) -> KeyedConsumer:
        settings = wiring.settings
        function = self._function(
            wiring.name,
            FunctionProps(
                name=settings.function_name,
                code=self._functions / "order_latency",
                handler=HANDLER,
                memory_mb=settings.memory_mb,
                timeout_s=settings.timeout_s,
                layers=self._layers,
                environment=_environment(wiring, self._settings),
                architecture=self._settings.architecture,
                reserved_concurrency=settings.reserved_concurrency,
            ),
        )
        consumer = KeyedConsumer(
            self,
            f"{wiring.name}Consumer",
            function=function.function,
            source=wiring.source,
            consumer=self.lot.part(settings.function_name),
            mapping=_mapping(wiring, Policy(self._settings.policy)),
            on_failure=self.on_failure,
            alarms=None,
        )
        if consumer.props.starting_position == "LATEST":
            _acknowledge_latest(consumer)
        CfnOutput(self, f"{wiring.name}FunctionName", value=function.function.function_name)
        CfnOutput(self, f"{wiring.name}LogGroupName", value=function.log_group.log_group_name)
        CfnOutput(self, f"{wiring.name}MappingId", value=consumer.mapping_id)
        CfnOutput(self, f"{wiring.name}ParkingConsumer", value=consumer.part.consumer)
        if self._settings.redrive_every_min is not None:
            self._redrive(wiring, function.function, consumer, self._settings.redrive_every_min)
        return consumer

    def _redrive(
        self,
        wiring: _Wiring,
        function: lambda_.IFunction,
        consumer: KeyedConsumer,
        every_min: int,
    ) -> None:
        redrive = self._function(
            f"{wiring.name}Redrive",
            FunctionProps(
                name=f"{wiring.settings.function_name}-redrive"[-64:],
                code=self._functions / "redrive",
                handler=HANDLER,
                memory_mb=128,
                timeout_s=LONGEST_S,
                layers=self._layers,
                environment={
                    **consumer.part.environment,
                    "CONSUMER_FUNCTION": wiring.settings.function_name,
                    "CONSUMER_TIMEOUT_S": str(wiring.settings.timeout_s),
                    "POWERTOOLS_SERVICE_NAME": self._settings.service_name,
                },
                architecture=self._settings.architecture,
            ),
        )
        ScheduledRedrive(
            self,
            f"{wiring.name}RedriveSchedule",
            redrive=redrive.function,
            consumer=function,
            part=consumer.part,
            every_min=every_min,
        )

    def _load(self, stream: kinesis.IStream) -> None:
        load = self._function(
            "Load",
            FunctionProps(
                name=f"{self._settings.service_name.replace('.', '-')}-load"[-64:],
                code=self._functions / "load",
                handler=HANDLER,
                memory_mb=1_024,
                timeout_s=LONGEST_S,
                layers=self._layers,
                environment={
                    "STREAM_NAME": self._settings.read_stream_name,
                    "POWERTOOLS_SERVICE_NAME": self._settings.service_name,
                },
                architecture=self._settings.architecture,
            ),
        )
        stream.grant(load.function, "kinesis:PutRecord")
        if self._key is not None:
            self._key.grant(load.function, "kms:GenerateDataKey")
        CfnOutput(self, "LoadFunctionName", value=load.function.function_name)

    def _function(self, construct_id: str, props: FunctionProps) -> ConsumerFunction:
        return ConsumerFunction(
            self,
            construct_id,
            props,
            log_retention_days=self._settings.log_retention_days,
            removal_policy=self._removal,
        )


def _acknowledge_latest(consumer: KeyedConsumer) -> None:
    """In the template, where ``shardlane lint`` finds it."""
    resource = consumer.mapping.node.default_child
    assert isinstance(resource, lambda_.CfnEventSourceMapping)
    resource.add_metadata("shardlane", {"acknowledged": {"latest": WHY_LATEST}})


def _environment(wiring: _Wiring, settings: StageSettings) -> dict[str, str]:
    """The fields of the function's own settings, in upper case; a test compares the two. Policy
    and lot come from ``KeyedConsumer``."""
    return {
        "LABEL": wiring.label,
        "WORKERS": str(wiring.settings.workers),
        "LOG_KEYS": str(wiring.settings.log_keys).lower(),
        "POWERTOOLS_SERVICE_NAME": settings.service_name,
        "POWERTOOLS_METRICS_NAMESPACE": settings.metrics_namespace,
        "POWERTOOLS_LOG_LEVEL": wiring.settings.log_level,
    }


def _mapping(wiring: _Wiring, policy: Policy) -> MappingProps:
    settings = wiring.settings.mapping
    try:
        return MappingProps(
            policy=policy,
            batch_size=settings.batch_size,
            batching_window_s=settings.batching_window_s,
            parallelization_factor=settings.parallelization_factor,
            starting_position=settings.starting_position,
            retry_attempts=settings.retry_attempts,
            max_record_age_s=settings.max_record_age_s,
            bisect_on_error=settings.bisect_on_error,
        )
    except ValueError as error:
        raise SettingsError(f"{wiring.path}.mapping.{error}") from error
