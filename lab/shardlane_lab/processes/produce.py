"""The producer: ``put_record`` on a schedule; with one sender one after the other, as published.

Every record carries its number and the time it was sent. A put that fails past boto3's retries is
sent once more; if that fails too, the number is reported as not sent.
"""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from shardlane.clock import SystemClock
from shardlane.load import Planned, load_plan
from shardlane.load_sending import LoadSender, Sent
from shardlane_lab.processes.child import emit, end_with_parent, kinesis, now_ms, settings


class Told:
    """One event for each thing that happens."""

    def sent(self, sent: Sent) -> None:
        if sent.record.seq is None:
            emit("poisoned", key=sent.record.key)
        else:
            emit("sent", seq=sent.record.seq, sent_ms=sent.sent_ms, put_ms=sent.put_ms)

    def resend(self, record: Planned, reason: str) -> None:
        emit("resend", seq=record.seq, reason=reason)

    def not_sent(self, record: Planned, reason: str) -> None:
        emit("not-sent", seq=record.seq, reason=reason)


def main() -> None:
    given = settings()
    end_with_parent()
    client = kinesis(connections=64)
    plan = load_plan(given["load"])
    records = plan.planned()

    def put(key: str, data: bytes) -> None:
        client.put_record(StreamName=given["stream"], Data=data, PartitionKey=key)

    sender = LoadSender(plan, put, Told(), SystemClock(), (ClientError, BotoCoreError))
    emit("ready")
    start_ms = now_ms()
    emit("started", start_ms=start_ms)
    sender.send(records, start_ms)
    emit("finished")


if __name__ == "__main__":
    main()
