"""Where a consumer reads from: the stream itself (shared throughput) or a registered consumer of
it (enhanced fan-out). The kinds differ in an ARN and in what the role may do, and in no code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

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
    """An event source mapping's source, and what its function's role needs."""

    stream: kinesis.IStream
    """Lambda polls its shards: 5 reads and 2 MiB a second per shard, shared by all readers."""
    consumer: kinesis.IStreamConsumer | None = None
    """If there is one, the shards push: 2 MiB a second per shard for this consumer alone."""

    @property
    def arn(self) -> str:
        return self.consumer.stream_consumer_arn if self.consumer else self.stream.stream_arn

    def grant_read(self, grantee: iam.IGrantable) -> list[iam.Grant]:
        grants = [_grant(grantee, READ_STREAM, self.stream.stream_arn)]
        if self.consumer is not None:
            grants.append(_grant(grantee, READ_CONSUMER, self.consumer.stream_consumer_arn))
        key = self.stream.encryption_key
        if key is not None:  # a customer's own; with AWS's no grant is needed
            grants.append(key.grant_decrypt(grantee))
        return grants


def source_of(source: kinesis.IStream | kinesis.IStreamConsumer) -> StreamSource:
    """A registered consumer knows its stream: one value says which kind it is."""
    if hasattr(source, "stream_consumer_arn"):
        consumer = cast(kinesis.IStreamConsumer, source)
        return StreamSource(consumer.stream, consumer)
    return StreamSource(source)


def _grant(grantee: iam.IGrantable, actions: list[str], arn: str) -> iam.Grant:
    return iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[arn])
