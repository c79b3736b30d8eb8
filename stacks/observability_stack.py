"""The dashboard, and the alarms of both consumers, of the workers and of the stream."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.consumer_alarms import AlarmProps, ConsumerAlarms, StreamAlarms, Watched
from stacks.constructs.dashboard import ConsumerDashboard, Dashed, Shown
from stacks.constructs.keyed_consumer import KeyedConsumer
from stacks.constructs.worker_alarms import WorkerAlarms
from stacks.consumer_stack import EFO_LABEL, STANDARD_LABEL, ConsumerStack
from stacks.settings import ConsumerSettings, StageSettings
from stacks.stream_stack import customer_key
from stacks.worker_stack import runs


class ObservabilityStack(Stack):
    """Dimensions are the settings' names, not references: only the mappings' UUIDs and the queue's
    name, which nobody can know before, tie this stack to the consumers'."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        settings: StageSettings,
        *,
        consumers: ConsumerStack,
    ) -> None:
        super().__init__(scope, construct_id, description="shardlane: dashboard and alarms")
        shown = _shown(settings, consumers)
        self._alarms(settings, shown)
        name = f"shardlane-{settings.stage}"
        on_failure = consumers.on_failure
        ConsumerDashboard(
            self,
            "Dashboard",
            name=name,
            dashed=Dashed(
                namespace=settings.metrics_namespace,
                service=settings.service_name,
                stream_name=settings.read_stream_name,
                stream_consumer_names=[
                    settings.lambda_efo_consumer_name,
                    settings.boto3_efo_consumer_name,
                ],
                consumers=shown,
                queue_name=on_failure.queue_name if isinstance(on_failure, sqs.Queue) else None,
                worker=settings.worker.name if runs(settings.worker) else None,
            ),
        )
        CfnOutput(self, "DashboardName", value=name)

    def _alarms(self, settings: StageSettings, shown: list[Shown]) -> None:
        topic = self._topic(settings)
        props = AlarmProps(
            late_after_s=settings.late_after_s,
            retention_hours=settings.stream_retention_hours,
            parked_after_s=settings.parked_after_s,
            topic=topic,
        )
        for each in shown:
            ConsumerAlarms(self, f"{each.label}-alarms", each.watched, props)
        if runs(settings.worker):
            WorkerAlarms(
                self,
                "worker-alarms",
                stream_name=settings.read_stream_name,
                application=settings.worker.name,
                props=props,
            )
        StreamAlarms(self, "stream-alarms", stream_name=settings.read_stream_name, topic=topic)

    def _topic(self, settings: StageSettings) -> sns.ITopic | None:
        if settings.alarm_email is None:
            return None
        topic = sns.Topic(self, "Alarms", enforce_ssl=True, master_key=customer_key(self, settings))
        topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        CfnOutput(self, "AlarmTopicArn", value=topic.topic_arn)
        return topic


def _shown(settings: StageSettings, consumers: ConsumerStack) -> list[Shown]:
    return [
        _consumer(STANDARD_LABEL, settings, settings.standard, consumers.standard, None),
        _consumer(
            EFO_LABEL,
            settings,
            settings.efo,
            consumers.efo,
            settings.lambda_efo_consumer_name,
        ),
    ]


def _consumer(
    label: str,
    stage: StageSettings,
    settings: ConsumerSettings,
    consumer: KeyedConsumer,
    stream_consumer_name: str | None,
) -> Shown:
    watched = Watched(
        function_name=settings.function_name,
        mapping_id=consumer.mapping_id,
        consumer=consumer.part.consumer,
        stream_name=stage.read_stream_name,
        stream_consumer_name=stream_consumer_name,
        parks=stage.policy == "park",
    )
    return Shown(label=label, watched=watched, memory_mb=settings.memory_mb)
