"""The same function twice: once on the shared throughput, once on enhanced fan-out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.constructs.consumer_function import ConsumerFunction, FunctionProps
from stacks.constructs.keyed_consumer import KeyedConsumer, MappingProps
from stacks.constructs.layers import DependenciesLayer, RuntimeLayer
from stacks.constructs.on_failure_queue import OnFailureQueue
from stacks.constructs.stream_source import StreamSource, fan_out, shared_throughput
from stacks.settings import ConsumerSettings, MappingSettings, StageSettings
from stacks.stream_stack import StreamStack

STANDARD_LABEL = "lambda-standard"
EFO_LABEL = "lambda-efo"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wiring:
    """All that the two consumers differ in."""

    name: str
    """In construct ids and in the names of outputs."""
    label: str
    source: StreamSource
    settings: ConsumerSettings


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
        """``sources`` holds the folders ``functions`` and ``layers``."""
        super().__init__(
            scope, construct_id, description="shardlane: the consumers and their mappings"
        )
        self._settings = settings
        self._code = sources / "functions" / "order_latency"
        self._layers = self._both_layers(sources / "layers")
        self._queue = OnFailureQueue(
            self,
            "OnFailure",
            retention_days=settings.on_failure_retention_days,
            removal_policy=RemovalPolicy[settings.removal.upper()],
        )
        CfnOutput(self, "OnFailureQueueUrl", value=self._queue.queue_url)
        stream, consumer = streams.stream, streams.lambda_efo_consumer
        self.standard = self._consumer(
            _Wiring(
                name="Standard",
                label=STANDARD_LABEL,
                source=shared_throughput(stream),
                settings=settings.standard,
            )
        )
        self.efo = self._consumer(
            _Wiring(
                name="Efo",
                label=EFO_LABEL,
                source=fan_out(consumer, stream),
                settings=settings.efo,
            )
        )

    def _both_layers(self, folder: Path) -> list[lambda_.ILayerVersion]:
        return [
            DependenciesLayer(self, "DependenciesLayer", folder=folder / "dependencies"),
            RuntimeLayer(self, "RuntimeLayer", folder=folder / "shardlane"),
        ]

    def _consumer(self, wiring: _Wiring) -> KeyedConsumer:
        function = self._function(wiring)
        consumer = KeyedConsumer(
            self,
            f"{wiring.name}Consumer",
            function=function.function,
            source=wiring.source,
            mapping=_mapping(wiring.settings.mapping),
            on_failure=self._queue,
        )
        CfnOutput(self, f"{wiring.name}FunctionName", value=function.function.function_name)
        CfnOutput(self, f"{wiring.name}LogGroupName", value=function.log_group.log_group_name)
        CfnOutput(self, f"{wiring.name}MappingId", value=consumer.mapping_id)
        return consumer

    def _function(self, wiring: _Wiring) -> ConsumerFunction:
        return ConsumerFunction(
            self,
            wiring.name,
            FunctionProps(
                name=wiring.settings.function_name,
                code=self._code,
                handler="handler.lambda_handler",
                memory_mb=wiring.settings.memory_mb,
                timeout_s=wiring.settings.timeout_s,
                layers=self._layers,
                environment=_environment(wiring, self._settings),
            ),
            log_retention_days=self._settings.log_retention_days,
            removal_policy=RemovalPolicy[self._settings.removal.upper()],
        )


def _environment(wiring: _Wiring, settings: StageSettings) -> dict[str, str]:
    """The fields of the function's own settings, in upper case; a test compares the two."""
    return {
        "LABEL": wiring.label,
        "WORKERS": str(wiring.settings.workers),
        "LOG_KEYS": str(wiring.settings.log_keys).lower(),
        "POWERTOOLS_SERVICE_NAME": settings.service_name,
        "POWERTOOLS_METRICS_NAMESPACE": settings.metrics_namespace,
        "POWERTOOLS_LOG_LEVEL": wiring.settings.log_level,
    }


def _mapping(settings: MappingSettings) -> MappingProps:
    return MappingProps(
        batch_size=settings.batch_size,
        batching_window_s=settings.batching_window_s,
        parallelization_factor=settings.parallelization_factor,
        starting_position=settings.starting_position,
        retry_attempts=settings.retry_attempts,
        max_record_age_s=settings.max_record_age_s,
        bisect_on_error=settings.bisect_on_error,
    )
