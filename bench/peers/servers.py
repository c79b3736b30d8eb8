"""The services that a trial runs against, each a process of its own on this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shardlane_lab.local_aws.services import LocalAws
from shardlane_lab.local_kinesis.http import FRAME_GAP_MS

REGION = "us-east-1"
STOPS_WITHIN_S = 10


@dataclass(frozen=True)
class Kinesis:
    endpoint: str
    process_id: int


@contextmanager
def local_kinesis(
    *, unlimited: bool = False, frame_gap_ms: float = FRAME_GAP_MS
) -> Iterator[Kinesis]:
    """``frame_gap_ms``: between two frames that are pushed. Raises ``RuntimeError`` if it does not
    start."""
    options = ["--frame-gap-ms", str(frame_gap_ms), *(["--unlimited"] if unlimited else [])]
    command = [sys.executable, "-m", "bench.peers.serve", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError("the local Kinesis did not start")
        try:
            yield Kinesis(f"http://127.0.0.1:{int(port)}", process.pid)
        finally:
            process.communicate(timeout=STOPS_WITHIN_S)  # closes its input, which ends it


@contextmanager
def local_aws() -> Iterator[LocalAws]:
    """moto's DynamoDB (and CloudWatch) behind our lock: moto alone is not atomic."""
    with asyncio.Runner() as runner:
        services = LocalAws(REGION)
        runner.run(services.start())
        try:
            yield services
        finally:
            runner.run(services.stop())


def environment() -> dict[str, str]:
    """For a client: nothing of the user's own AWS configuration reaches it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
