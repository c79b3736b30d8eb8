"""The bare ``subscribe_to_shard`` consumer of the published measurement, one thread a shard.

A subscription lives five minutes; the next one continues after what the last event said
(``ContinuationSequenceNumber``), or after the last record that was handed over if the stream
ended in the middle of something.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
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
"""The pause after a refusal."""
PASSING = ("ResourceInUseException", "LimitExceededException", "InternalFailureException")
"""Refusals of a subscription that pass."""
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
    """One shard of one registered consumer, subscribed to until it ends."""

    def __init__(
        self, client: Any, arn: str, shard_id: str, label: str, start: str = "LATEST"
    ) -> None:
        self._client = client
        self._arn = arn
        self._shard_id = shard_id
        self._label = label
        self._position: dict[str, str] = {"Type": start}
        self.children: list[str] = []
        """Ids, once the shard has ended."""
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
                if error.response["Error"]["Code"] not in PASSING:
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
                self.children = [each["ShardId"] for each in event.get("ChildShards", ())]
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


class Subscriptions:
    """A thread for each shard, and after a reshard for each child."""

    def __init__(self, client: Any, arn: str, label: str) -> None:
        self._client = client
        self._arn = arn
        self._label = label
        self._lock = threading.Lock()
        self._started: set[str] = set()

    def start(self, shard_id: str, start: str = "LATEST") -> ShardSubscription:
        subscription = ShardSubscription(self._client, self._arn, shard_id, self._label, start)
        self._started.add(shard_id)
        threading.Thread(target=self._run, args=(subscription,), daemon=True).start()
        return subscription

    def _run(self, subscription: ShardSubscription) -> None:
        try:
            subscription.run()
            with self._lock:  # after a merge both parents name the child
                for child in subscription.children:
                    if child not in self._started:
                        self.start(child, "TRIM_HORIZON")
        except BaseException:
            # Without one of its shards the whole consumer is of no use.
            traceback.print_exc()
            os._exit(1)


def main() -> None:
    given = settings()
    end_with_parent()
    client = kinesis(connections=100)
    stream, label = given["stream"], given["label"]
    arn = consumer_arn(client, stream, given["consumer"])
    every = Subscriptions(client, arn, label)
    opened = [every.start(shard_id) for shard_id in shard_ids(client, stream)]
    for each in opened:
        each.open.wait()
    emit("ready")
    threading.Event().wait()


if __name__ == "__main__":
    main()
