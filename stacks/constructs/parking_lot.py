"""The table in which quarantined keys and their records wait, and a bucket for the large ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from .private_bucket import PrivateBucket

# Under one transaction each write needs the action that it is (DynamoDB, "Using IAM with
# transactions"); GetItem is the redriven record's look at its key's gate.
PARK = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem")
REDRIVE = ("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem")
USE_KEY = ("kms:Decrypt", "kms:GenerateDataKey")
PAYLOADS = "shardlane/*"
"""Where payloads are in the bucket."""


_CONSUMER = re.compile(r"[A-Za-z0-9._-]{1,100}")


class ParkingLot(Construct):
    """Paid by use, encrypted; nothing in it expires: a time to live would delete payloads."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        with_bucket: bool = False,
        key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        point_in_time_recovery: bool = True,
    ) -> None:
        """``with_bucket``: for payloads above 350,000 bytes, which no item can hold. ``key``: a
        key of the customer's own instead of DynamoDB's and S3's. The policy ``RETAIN`` protects
        the table from deletion as well."""
        super().__init__(scope, construct_id)
        self._key = key
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=(
                dynamodb.TableEncryption.CUSTOMER_MANAGED
                if key
                else dynamodb.TableEncryption.AWS_MANAGED
            ),
            encryption_key=key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=point_in_time_recovery
            ),
            deletion_protection=removal_policy is RemovalPolicy.RETAIN,
            removal_policy=removal_policy,
        )
        self.bucket = (
            PrivateBucket(self, "Payloads", key=key, removal_policy=removal_policy)
            if with_bucket
            else None
        )

    def part(self, consumer: str) -> LotPart:
        """The part of one mapping: its ``ParkingLot(consumer=…)``. Two mappings that share a
        name would quarantine each other's keys."""
        return LotPart(self, consumer)

    def grant_park(self, grantee: iam.IGrantable) -> list[iam.Grant]:
        """What a function needs that parks: it never deletes."""
        return self._grant(grantee, PARK, ("s3:PutObject",))

    def grant_redrive(self, grantee: iam.IGrantable) -> list[iam.Grant]:
        """What a redrive needs beside ``lambda:InvokeFunction``."""
        return self._grant(grantee, REDRIVE, ("s3:DeleteObject", "s3:GetObject"))

    def _grant(
        self, grantee: iam.IGrantable, on_table: Sequence[str], on_objects: Sequence[str]
    ) -> list[iam.Grant]:
        grants = [_allow(grantee, on_table, self.table.table_arn)]
        if self.bucket is not None:
            grants.append(_allow(grantee, on_objects, self.bucket.arn_for_objects(PAYLOADS)))
        if self._key is not None:
            grants.append(self._key.grant(grantee, *USE_KEY))
        return grants


@dataclass(frozen=True, slots=True)
class LotPart:
    lot: ParkingLot
    consumer: str

    def __post_init__(self) -> None:
        if not _CONSUMER.fullmatch(self.consumer):
            raise ValueError(
                f"consumer is {self.consumer!r}; allowed: 1 to 100 of A-Z a-z 0-9 . _ -"
            )

    @property
    def environment(self) -> dict[str, str]:
        """What ``shardlane.settings`` reads about the lot."""
        variables = {
            "PARKING_TABLE": self.lot.table.table_name,
            "PARKING_CONSUMER": self.consumer,
        }
        if self.lot.bucket is not None:
            variables["PARKING_BUCKET"] = self.lot.bucket.bucket_name
        return variables


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _allow(grantee: iam.IGrantable, actions: Sequence[str], arn: str) -> iam.Grant:
    return iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[arn])
