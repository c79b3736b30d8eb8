"""The dashboard and the alarms of both consumers."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from stacks.constructs.consumer_alarms import ConsumerAlarms
from stacks.constructs.latency_dashboard import (
    LatencyDashboard,
    WatchedFunction,
    WatchedStream,
)
from stacks.consumer_stack import EFO_LABEL, STANDARD_LABEL, ConsumerStack
from stacks.settings import StageSettings


class ObservabilityStack(Stack):
    """Dimensions are the settings' names, not references: only the mappings' UUIDs, which nobody
    can know before, tie this stack to the consumers'."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        settings: StageSettings,
        *,
        consumers: ConsumerStack,
    ) -> None:
        super().__init__(scope, construct_id, description="shardlane: dashboard and alarms")
        functions = _watched(settings, consumers)
        for each in functions:
            ConsumerAlarms(
                self,
                f"{each.label}-alarms",
                function_name=each.function_name,
                mapping_id=each.mapping_id,
                late_after_s=settings.late_after_s,
            )
        name = f"shardlane-{settings.stage}"
        LatencyDashboard(
            self,
            "Latency",
            name=name,
            namespace=settings.metrics_namespace,
            service=settings.service_name,
            functions=functions,
            stream=WatchedStream(
                stream_name=settings.read_stream_name,
                consumer_names=[
                    settings.lambda_efo_consumer_name,
                    settings.boto3_efo_consumer_name,
                ],
            ),
        )
        CfnOutput(self, "DashboardName", value=name)


def _watched(settings: StageSettings, consumers: ConsumerStack) -> list[WatchedFunction]:
    return [
        WatchedFunction(
            label=STANDARD_LABEL,
            function_name=settings.standard.function_name,
            mapping_id=consumers.standard.mapping_id,
        ),
        WatchedFunction(
            label=EFO_LABEL,
            function_name=settings.efo.function_name,
            mapping_id=consumers.efo.mapping_id,
        ),
    ]
