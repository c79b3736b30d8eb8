"""A bucket that nobody can read from outside."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct


class PrivateBucket(s3.Bucket):
    """Encrypted, TLS only, no public access; unfinished uploads end after a day. It has no
    retention but what ``rules`` say."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        rules: Sequence[s3.LifecycleRule] = (),
    ) -> None:
        """``key``: a key of the customer's own instead of one of S3."""
        super().__init__(
            scope,
            construct_id,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            # Without it, every object would be a request to KMS, which has limits of its own.
            bucket_key_enabled=True if key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
                *rules,
            ],
            removal_policy=removal_policy,
        )
