"""The bare ``get_records`` consumer of the published measurement: call, sleep, call again.

One process; several shards are read by turns, and after a reshard the children from their start. A
throttle that surfaces past boto3's retries is counted, and the loop goes on with the iterator it
has.
"""

from __future__ import annotations

import time
from typing import Any

from botocore.exceptions import ClientError

from shardlane_lab.processes.child import emit, end_with_parent, kinesis, now_ms, settings
from shardlane_lab.processes.reading import emit_samples, shard_ids


class ShardReader:
    """One shard, from LATEST on or, if it is the child of another, from its start."""

    def __init__(
        self, client: Any, stream: str, shard_id: str, label: str, start: str = "LATEST"
    ) -> None:
        self._client = client
        self._stream = stream
        self._shard_id = shard_id
        self._label = label
        self._start = start
        self._last: str | None = None
        self.children: list[str] = []
        """Ids, once the shard has ended."""
        self._iterator: str | None = self._open()

    def _open(self) -> str:
        start: dict[str, str] = {"ShardIteratorType": self._start}
        if self._last is not None:
            start = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "StartingSequenceNumber": self._last,
            }
        answer = self._client.get_shard_iterator(
            StreamName=self._stream, ShardId=self._shard_id, **start
        )
        return str(answer["ShardIterator"])

    def poll(self) -> None:
        """One call. Throttles are counted, an expired iterator is opened anew after the last
        record; a shard that has ended is read no more."""
        if self._iterator is None:
            return
        try:
            answer = self._client.get_records(ShardIterator=self._iterator)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "ProvisionedThroughputExceededException":
                emit("throttled", label=self._label)
                return
            if code == "InternalFailureException":
                emit("interrupted", label=self._label, reason=str(error))
                return
            if code == "ExpiredIteratorException":
                self._iterator = self._open()
                return
            raise
        recv_ms = now_ms()
        self._iterator = answer.get("NextShardIterator")
        self.children = [each["ShardId"] for each in answer.get("ChildShards", ())]
        records = answer["Records"]
        if records:
            self._last = records[-1]["SequenceNumber"]
            emit_samples(records, label=self._label, shard_id=self._shard_id, recv_ms=recv_ms)


def main() -> None:
    given = settings()
    end_with_parent()
    client = kinesis()
    stream, label, interval_s = given["stream"], given["label"], given["interval_ms"] / 1000
    readers = {
        shard_id: ShardReader(client, stream, shard_id, label)
        for shard_id in shard_ids(client, stream)
    }
    emit("ready")
    while True:
        for reader in list(readers.values()):
            reader.poll()
            for child in reader.children:
                if child not in readers:  # after a merge both parents name it
                    readers[child] = ShardReader(client, stream, child, label, "TRIM_HORIZON")
        time.sleep(interval_s)


if __name__ == "__main__":
    main()
