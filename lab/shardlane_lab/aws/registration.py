"""Stream consumers that a run registers beside the deployed one, and takes away again."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from botocore.exceptions import ClientError

from shardlane_lab.aws.errors import AwsError, explained

RUN = "run"
"""In the names of those that a run registers."""
ACTIVE_WITHIN_S = 120.0
LOOK_EVERY_S = 1.0


def register(kinesis: Any, stream_arn: str, name: str) -> None:
    """Waits until it is ACTIVE; blocks. Raises ``AwsError``."""
    with explained(f"the stream consumer {name}"):
        kinesis.register_stream_consumer(StreamARN=stream_arn, ConsumerName=name)
        until_s = time.monotonic() + ACTIVE_WITHIN_S
        while True:
            described = kinesis.describe_stream_consumer(StreamARN=stream_arn, ConsumerName=name)
            status = described["ConsumerDescription"]["ConsumerStatus"]
            if status == "ACTIVE":
                return
            if time.monotonic() > until_s:
                raise AwsError(f"the stream consumer {name} is {status}, not ACTIVE")
            time.sleep(LOOK_EVERY_S)


def deregister(kinesis: Any, stream_arn: str, name: str) -> None:
    """Blocks. One that is not there is fine. Raises ``AwsError`` saying what is left and is
    billed."""
    with explained(f"the stream consumer {name} is still registered and billed by the hour"):
        try:
            kinesis.deregister_stream_consumer(StreamARN=stream_arn, ConsumerName=name)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise


def left_behind(registered: Iterable[str], stream: str) -> list[str]:
    """Consumers that an earlier run registered and, killed, did not take away; or that another
    run needs now."""
    return sorted(name for name in registered if name.startswith(f"{stream}-{RUN}-"))
