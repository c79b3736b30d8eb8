"""The producer of the published measurement: ``put_record`` on a schedule, one after the other.

Every record carries its number and the time it was sent. A put that fails past boto3's retries is
sent once more; if that fails too, the number is reported as not sent.
"""

from __future__ import annotations

import json
import time
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from shardlane_lab.processes.child import emit, end_with_parent, kinesis, now_ms, settings


def put(client: Any, stream: str, seq: int, key: str, scheduled_ms: float) -> None:
    sent_ms = now_ms()
    data = json.dumps({"seq": seq, "sent_ms": sent_ms, "scheduled_ms": scheduled_ms})
    answer = client.put_record(StreamName=stream, Data=data.encode(), PartitionKey=key)
    emit(
        "sent",
        seq=seq,
        sent_ms=sent_ms,
        put_ms=now_ms() - sent_ms,
        sequence_number=answer["SequenceNumber"],
    )


def put_or_resend(client: Any, stream: str, seq: int, key: str, scheduled_ms: float) -> None:
    for last_try in (False, True):
        try:
            put(client, stream, seq, key, scheduled_ms)
            return
        except (ClientError, BotoCoreError) as error:
            emit("not-sent" if last_try else "resend", seq=seq, reason=str(error))


def main() -> None:
    given = settings()
    end_with_parent()
    client = kinesis()
    stream, rate_per_s, keys = given["stream"], given["rate_per_s"], given["keys"]
    emit("ready")
    start_ms = now_ms()
    emit("started", start_ms=start_ms)
    for seq in range(round(rate_per_s * given["seconds"])):
        scheduled_ms = start_ms + seq * 1000 / rate_per_s
        time.sleep(max(0.0, scheduled_ms - now_ms()) / 1000)
        put_or_resend(client, stream, seq, f"key-{seq % keys}", scheduled_ms)
    emit("finished")


if __name__ == "__main__":
    main()
