"""The bare ``subscribe_to_shard`` consumer of the published measurement, one thread a shard.

A subscription lives five minutes; the next one continues after what the last event said
(``ContinuationSequenceNumber``), or after the last record that was handed over if the stream
ended in the middle of something.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError, EventStreamError
from urllib3.exceptions import HTTPError

from shardlane_lab.processes.child import emit, end_with_parent, kinesis, now_ms, settings
from shardlane_lab.processes.reading import emit_samples, shard_ids

ACTIVE_WITHIN_S = 60.0
FLOOR_S = 5.0
"""A second call within 5 s of one that succeeded is refused (SubscribeToShard)."""
REFUSED_S = 1.0
"""The pause after ``ResourceInUseException``."""
INTERRUPTIONS = (EventStreamError, HTTPError, BotoCoreError, ParserError)
"""What botocore raises, by itself or through urllib3, when a stream breaks in the middle."""


def consumer_arn(client: Any, stream: str, name: str) -> str:
    """The registered consumer's ARN, once it is ACTIVE. Raises ``TimeoutError`` after a minute."""
    stream_arn = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"][
        "StreamARN"
    ]
    until_s = time.monotonic() + ACTIVE_WITHIN_S
    while True:
        described = client.describe_stream_consumer(StreamARN=stream_arn, ConsumerName=name)
        consumer = described["ConsumerDescription"]
        if consumer["ConsumerStatus"] == "ACTIVE":
            return str(consumer["ConsumerARN"])
        if time.monotonic() > until_s:
            raise TimeoutError(f"consumer {name} of {stream} is {consumer['ConsumerStatus']}")
        time.sleep(0.5)


class ShardSubscription:
    """One shard of one registered consumer, subscribed to for ever from LATEST on."""

    def __init__(self, client: Any, arn: str, shard_id: str, label: str) -> None:
        self._client = client
        self._arn = arn
        self._shard_id = shard_id
        self._label = label
        self._position: dict[str, str] = {"Type": "LATEST"}
        self.open = threading.Event()
        """Set once the first subscription stands."""

    def run(self) -> None:
        ended = False
        while not ended:
            began_s = time.monotonic()
            try:
                ended = self._read()
            except INTERRUPTIONS as error:
                emit("interrupted", label=self._label, reason=repr(error))
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceInUseException":
                    raise
                time.sleep(REFUSED_S)
                continue
            time.sleep(max(0.0, FLOOR_S - (time.monotonic() - began_s)))

    def _read(self) -> bool:
        """Reads one subscription to its end; True if the shard itself has ended."""
        for event in self._events():
            recv_ms = now_ms()
            records = event["Records"]
            emit_samples(records, label=self._label, shard_id=self._shard_id, recv_ms=recv_ms)
            continuation = event.get("ContinuationSequenceNumber")
            if event.get("ChildShards") or continuation is None:
                return True
            self._position = {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": continuation}
        return False

    def _events(self) -> Iterator[dict[str, Any]]:
        answer = self._client.subscribe_to_shard(
            ConsumerARN=self._arn, ShardId=self._shard_id, StartingPosition=self._position
        )
        self.open.set()
        with closing(answer["EventStream"]) as stream:
            for event in stream:
                yield event["SubscribeToShardEvent"]


def main() -> None:
    given = settings()
    end_with_parent()
    client = kinesis()
    stream, label = given["stream"], given["label"]
    arn = consumer_arn(client, stream, given["consumer"])
    subscriptions = [
        ShardSubscription(client, arn, shard_id, label) for shard_id in shard_ids(client, stream)
    ]
    threads = [threading.Thread(target=each.run, daemon=True) for each in subscriptions]
    for thread in threads:
        thread.start()
    for each in subscriptions:
        each.open.wait()
    emit("ready")
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
