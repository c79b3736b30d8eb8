"""Sends a part of an experiment's load from inside the region, so that no workstation's clock or
network is in the figures.

The event is ``{"load": {…}, "start_ms": …, "from_ms": …, "until_ms": …}``: the experiment's load
(``shardlane.load.LoadPlan`` as a JSON object), the wall clock at its start (epoch milliseconds, by
this function's clock) and the part of it to send, in milliseconds from the start. The answer counts
what was sent and names what was not. ``{"clock": true}`` is answered with ``{"now_ms": …}``.

A part is short (the caller cuts the load), so that a caller who is stopped leaves nothing running
for long. The stream's name is in the environment variable ``STREAM_NAME``.
"""

from __future__ import annotations

import os
from typing import Any

import boto3
from aws_lambda_powertools import Logger
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from shardlane import BadEvent
from shardlane.clock import SystemClock
from shardlane.load import Planned, load_plan
from shardlane.load_sending import LoadSender, Sent

RETRIES = {"mode": "standard", "max_attempts": 3}
"""As the published producer: a put has four attempts."""
FIELDS = ("load", "start_ms", "from_ms", "until_ms")

logger = Logger(service=os.environ.get("POWERTOOLS_SERVICE_NAME", "load"), location=None)
stream = os.environ["STREAM_NAME"]
kinesis = boto3.client("kinesis", config=Config(retries=RETRIES, max_pool_connections=64))
clock = SystemClock()


class Tally:
    """The answer, while it is being counted."""

    def __init__(self) -> None:
        self.sent_count = 0
        self.poison_count = 0
        self.first_put_ms: float | None = None
        self.resends = 0
        self.missing: list[int] = []

    def sent(self, sent: Sent) -> None:
        if self.first_put_ms is None:
            self.first_put_ms = sent.put_ms
        if sent.record.seq is None:
            self.poison_count += 1
        else:
            self.sent_count += 1

    def resend(self, record: Planned, reason: str) -> None:
        self.resends += 1

    def not_sent(self, record: Planned, reason: str) -> None:
        logger.warning("a record was not sent", extra={"seq": record.seq, "reason": reason})
        if record.seq is not None:
            self.missing.append(record.seq)

    def answer(self) -> dict[str, Any]:
        return {
            "sent": self.sent_count,
            "poison": self.poison_count,
            "first_put_ms": self.first_put_ms,
            "resends": self.resends,
            "not_sent": self.missing,
        }


@logger.inject_lambda_context
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Raises ``BadEvent`` naming the field that is missing, ``SettingsError`` for a load that is
    not allowed."""
    if event.get("clock"):
        return {"now_ms": clock.wall_ms()}
    missing = [name for name in FIELDS if name not in event]
    if missing:
        raise BadEvent(f"the event has no {', '.join(missing)}; it needs {', '.join(FIELDS)}")
    plan = load_plan(event["load"])
    part = [each for each in plan.planned() if event["from_ms"] <= each.at_ms < event["until_ms"]]
    tally = Tally()
    sender = LoadSender(plan, put, tally, clock, (ClientError, BotoCoreError))
    sender.send(part, event["start_ms"])
    return tally.answer()


def put(key: str, data: bytes) -> None:
    kinesis.put_record(StreamName=stream, Data=data, PartitionKey=key)
