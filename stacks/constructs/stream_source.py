"""Where a consumer reads from: the stream itself (shared throughput) or a registered consumer of
it (enhanced fan-out). The kinds differ in an ARN and in what the role may do, and in no code."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kinesis as kinesis

# Lambda Developer Guide, "Process Amazon Kinesis Data Streams records with Lambda". ListStreams is
# in it because Lambda's check of the role, when a mapping is created, names it for the stream.
READ_STREAM = [
    "kinesis:DescribeStream",
    "kinesis:DescribeStreamSummary",
    "kinesis:GetRecords",
    "kinesis:GetShardIterator",
    "kinesis:ListShards",
    "kinesis:ListStreams",
]
# On the consumer's ARN; on the stream's, as Stream.grant_read puts them, they grant nothing here.
READ_CONSUMER = ["kinesis:DescribeStreamConsumer", "kinesis:SubscribeToShard"]


@dataclass(frozen=True, slots=True)
class StreamSource:
    """An event source mapping's source, and the statements that its function's role needs."""

    arn: str
    statements: tuple[iam.PolicyStatement, ...]


def shared_throughput(stream: kinesis.IStream) -> StreamSource:
    """Lambda polls the shards: 5 reads and 2 MiB a second per shard, shared by all readers."""
    return StreamSource(stream.stream_arn, (_allow(READ_STREAM, stream.stream_arn),))


def fan_out(consumer: kinesis.IStreamConsumer, stream: kinesis.IStream) -> StreamSource:
    """The shards push: 2 MiB a second per shard for this consumer alone."""
    arn = consumer.stream_consumer_arn
    return StreamSource(arn, (_allow(READ_STREAM, stream.stream_arn), _allow(READ_CONSUMER, arn)))


def _allow(actions: list[str], arn: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=[arn])
