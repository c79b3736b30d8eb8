"""The port that a subscription uses if it is given none."""

from __future__ import annotations

from shardlane.consumer.kinesis_port import KinesisPort


def default_kinesis() -> KinesisPort:
    """boto3, as the environment configures it."""
    # Not at the top: boto3 is an extra, and a simulation needs none.
    from shardlane.consumer.boto3_kinesis import Boto3Kinesis

    return Boto3Kinesis()
