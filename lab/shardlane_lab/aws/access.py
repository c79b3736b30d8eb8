"""The account and region of a run, checked before anything else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from shardlane_lab.aws.errors import AwsError, explained

RETRIES = {"mode": "standard", "max_attempts": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    client: Callable[[str], Any]
    """A boto3 client of a service; it blocks."""
    environment: Mapping[str, str]
    """For the processes of the run: whatever leads their SDK to the same account and region."""
    region: str
    account: str


def checked_access(region: str | None, profile: str | None) -> Access:
    """Raises ``AwsError`` without a region, or without credentials that the service accepts."""
    with explained("credentials"):
        session = boto3.Session(region_name=region, profile_name=profile)
    if session.region_name is None:
        raise AwsError("no region: give --region, or set AWS_REGION or the profile's region")
    config = Config(retries=RETRIES)
    with explained("credentials"):
        account = session.client("sts", config=config).get_caller_identity()["Account"]
    environment = dict(os.environ) | {
        "AWS_REGION": session.region_name,
        "AWS_DEFAULT_REGION": session.region_name,
    }
    if profile is not None:
        environment["AWS_PROFILE"] = profile
    return Access(
        client=lambda service: session.client(service, config=config),
        environment=environment,
        region=session.region_name,
        account=account,
    )
