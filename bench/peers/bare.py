"""Reads a stream with boto3 and nothing else: run as ``python -m bench.peers.bare``.

No leases, no checkpoints, no resharding, no retries but boto3's: the floor that a consumer's cost
is measured against. Polling goes over the shards in turn; fan-out has a thread per shard.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

import boto3

from bench.peers.asked import parser
from bench.peers.printed import Printed
from bench.peers.servers import REGION


class Bare:
    def __init__(self, given: argparse.Namespace) -> None:
        self._client: Any = boto3.client("kinesis", endpoint_url=given.kinesis, region_name=REGION)
        self._stream = given.stream
        self._name = given.application
        self._printed = Printed(given.count, timed=given.timed)
        self._interval_s = given.interval
        self._lock = threading.Lock()

    def poll(self) -> None:
        iterators = {shard: self._iterator(shard) for shard in self._shards()}
        due_s = dict.fromkeys(iterators, 0.0)
        while True:
            for shard, iterator in iterators.items():
                time.sleep(max(0.0, due_s[shard] - time.monotonic()))
                due_s[shard] = time.monotonic() + self._interval_s
                answer = self._client.get_records(ShardIterator=iterator, Limit=10_000)
                iterators[shard] = answer["NextShardIterator"]
                self._print(answer["Records"])
                if answer["MillisBehindLatest"]:
                    due_s[shard] = 0.0

    def subscribe(self) -> None:
        arn = self._consumer()
        threads = [
            threading.Thread(target=self._read, args=(arn, shard), daemon=True)
            for shard in self._shards()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _read(self, arn: str, shard: str) -> None:
        answer = self._client.subscribe_to_shard(
            ConsumerARN=arn, ShardId=shard, StartingPosition={"Type": "TRIM_HORIZON"}
        )
        for event in answer["EventStream"]:
            self._print(event["SubscribeToShardEvent"]["Records"])

    def _print(self, records: Iterable[dict[str, Any]]) -> None:
        with self._lock:
            for record in records:
                if self._printed.record(record["SequenceNumber"], record["PartitionKey"]):
                    self._printed.flush()
                    os._exit(0)  # the other threads wait for the network

    def _shards(self) -> list[str]:
        return [
            each["ShardId"] for each in self._client.list_shards(StreamName=self._stream)["Shards"]
        ]

    def _iterator(self, shard: str) -> str:
        answer = self._client.get_shard_iterator(
            StreamName=self._stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )
        return str(answer["ShardIterator"])

    def _consumer(self) -> str:
        """Registers, and waits until it is ACTIVE."""
        described = self._client.describe_stream_summary(StreamName=self._stream)
        stream_arn = described["StreamDescriptionSummary"]["StreamARN"]
        made = self._client.register_stream_consumer(StreamARN=stream_arn, ConsumerName=self._name)
        arn = str(made["Consumer"]["ConsumerARN"])
        while True:
            told = self._client.describe_stream_consumer(ConsumerARN=arn)
            if told["ConsumerDescription"]["ConsumerStatus"] == "ACTIVE":
                return arn
            time.sleep(0.1)


def main() -> int:
    given = parser(__doc__).parse_args()
    bare = Bare(given)
    if given.mode == "polling":
        bare.poll()
    else:
        bare.subscribe()
    return 0


if __name__ == "__main__":
    sys.exit(main())
