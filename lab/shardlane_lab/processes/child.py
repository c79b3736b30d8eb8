"""The child's side: one JSON line an event on stdout, and the end when the parent goes away."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import boto3
from botocore.config import Config

RETRIES = {"mode": "standard", "max_attempts": 3}
"""As published: botocore counts retries here, so a call has 4 attempts."""


def now_ms() -> float:
    """The wall clock, epoch milliseconds."""
    return time.time_ns() / 1e6


def emit(event: str, **values: Any) -> None:
    """Writes one event at once: the parent may end this process after any line."""
    sys.stdout.write(json.dumps({"event": event, **values}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def end_with_parent() -> None:
    """Ends this process when its stdin closes, which the kernel does when the parent is gone,
    however it went; so a killed run leaves no reader behind."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()


def settings() -> dict[str, Any]:
    """What the parent gave as the only argument: a JSON object."""
    values: dict[str, Any] = json.loads(sys.argv[1])
    return values


def kinesis(connections: int = 10) -> Any:
    """An unmodified boto3 client, retrying as the published measurement did. Endpoint, region and
    credentials come from the environment that the parent made. ``connections``: calls at once."""
    config = Config(retries=RETRIES, max_pool_connections=connections)
    return boto3.client("kinesis", config=config)
