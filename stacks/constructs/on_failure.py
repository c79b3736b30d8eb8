"""Where a mapping tells of a batch that it gave up."""

from __future__ import annotations

import jsii
from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct


class OnFailureQueue(sqs.Queue):
    """Encrypted, TLS only. Its messages name a shard and a range of sequence numbers, not the
    data: the records are in the stream until its retention passes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        retention_days: int,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(retention_days),
            removal_policy=removal_policy,
        )


@jsii.implements(lambda_.IEventSourceDlq)
class QueueDestination:
    """A queue as a mapping's on-failure destination, granting nothing but ``sqs:SendMessage``
    (Lambda Developer Guide, "Retaining discarded batches"); ``SqsDlq`` grants more."""

    def __init__(self, queue: sqs.IQueue) -> None:
        self._queue = queue

    def bind(
        self, _target: lambda_.IEventSourceMapping, target_handler: lambda_.IFunction
    ) -> lambda_.DlqDestinationConfig:
        self._queue.grant(target_handler, "sqs:SendMessage")
        return lambda_.DlqDestinationConfig(destination=self._queue.queue_arn)
