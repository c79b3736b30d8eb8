"""The stream, or the one that is there already, and its enhanced fan-out consumers."""

from __future__ import annotations

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_kinesis as kinesis
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.settings import StageSettings


class StreamStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, settings: StageSettings) -> None:
        super().__init__(scope, construct_id, description="shardlane: the stream and its consumers")
        self._key = customer_key(self, settings)
        self.stream = self._attached(settings) or self._created(settings)
        self.lambda_efo_consumer = self._consumer("LambdaEfo", settings.lambda_efo_consumer_name)
        self.boto3_efo_consumer = self._consumer("Boto3Efo", settings.boto3_efo_consumer_name)
        CfnOutput(self, "StreamName", value=self.stream.stream_name)
        CfnOutput(self, "StreamArn", value=self.stream.stream_arn)

    def _attached(self, settings: StageSettings) -> kinesis.IStream | None:
        if settings.stream_arn is None:
            return None
        return kinesis.Stream.from_stream_attributes(
            self, "Stream", stream_arn=settings.stream_arn, encryption_key=self._key
        )

    def _created(self, settings: StageSettings) -> kinesis.IStream:
        return kinesis.Stream(
            self,
            "Stream",
            stream_name=settings.stream_name,
            stream_mode=kinesis.StreamMode.PROVISIONED,
            shard_count=settings.shard_count,
            retention_period=Duration.hours(settings.stream_retention_hours),
            # Left out, the CDK makes encryption depend on the region it is deployed to.
            encryption=(
                kinesis.StreamEncryption.KMS if self._key else kinesis.StreamEncryption.MANAGED
            ),
            encryption_key=self._key,
            removal_policy=RemovalPolicy[settings.removal.upper()],
        )

    def _consumer(self, prefix: str, name: str) -> kinesis.StreamConsumer:
        consumer = kinesis.StreamConsumer(
            self, f"{prefix}Consumer", stream=self.stream, stream_consumer_name=name
        )
        CfnOutput(self, f"{prefix}ConsumerName", value=name)
        CfnOutput(self, f"{prefix}ConsumerArn", value=consumer.stream_consumer_arn)
        return consumer


def customer_key(stack: Stack, settings: StageSettings) -> kms.IKey | None:
    """The key of one's own that the stage names; its key policy is its owner's business."""
    if settings.key_arn is None:
        return None
    return kms.Key.from_key_arn(stack, "Key", settings.key_arn)
