"""Where a mapping tells of a batch that it gave up."""

from __future__ import annotations

from typing import cast

import jsii
from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .private_bucket import PrivateBucket

SEND_ENCRYPTED = ("kms:Decrypt", "kms:GenerateDataKey")


class OnFailureQueue(sqs.Queue):
    """Encrypted, TLS only. Its messages name a shard and a range of sequence numbers, not the
    data: the records are in the stream until its retention passes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        retention_days: int = 14,
        key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        """``retention_days``: 14 at most (Amazon SQS, MessageRetentionPeriod). ``key``: a key of
        the customer's own instead of one of SQS."""
        super().__init__(
            scope,
            construct_id,
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
            retention_period=Duration.days(retention_days),
            removal_policy=removal_policy,
        )


class OnFailureBucket(PrivateBucket):
    """Keeps the whole event of a batch that was given up, payloads included: nothing has to be
    read again from the stream, and nothing is lost when its retention passes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        retention_days: int = 90,
        key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            key=key,
            removal_policy=removal_policy,
            rules=[s3.LifecycleRule(expiration=Duration.days(retention_days))],
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
        _use_key(self._queue.encryption_master_key, target_handler)
        return lambda_.DlqDestinationConfig(destination=self._queue.queue_arn)


@jsii.implements(lambda_.IEventSourceDlq)
class BucketDestination:
    """A bucket as a mapping's on-failure destination: may put objects and list, in a bucket of
    this account. ``S3OnFailureDestination`` would let the function read and delete them too."""

    def __init__(self, bucket: s3.IBucket) -> None:
        self._bucket = bucket

    def bind(
        self, _target: lambda_.IEventSourceMapping, target_handler: lambda_.IFunction
    ) -> lambda_.DlqDestinationConfig:
        for action, arn in (
            ("s3:PutObject", self._bucket.arn_for_objects("aws/lambda/*")),
            ("s3:ListBucket", self._bucket.bucket_arn),
        ):
            iam.Grant.add_to_principal(
                grantee=target_handler,
                actions=[action],
                resource_arns=[arn],
                conditions={"StringEquals": {"s3:ResourceAccount": Aws.ACCOUNT_ID}},
            )
        _use_key(self._bucket.encryption_key, target_handler)
        return lambda_.DlqDestinationConfig(destination=self._bucket.bucket_arn)


def destination_of(place: sqs.IQueue | s3.IBucket) -> QueueDestination | BucketDestination:
    if hasattr(place, "bucket_arn"):
        return BucketDestination(cast(s3.IBucket, place))
    return QueueDestination(place)


def _use_key(key: kms.IKey | None, grantee: iam.IGrantable) -> None:
    if key is not None:
        key.grant(grantee, *SEND_ENCRYPTED)
