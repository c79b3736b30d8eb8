"""What is put into the stream, and whether a reader saw it as it should."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

KEYS = 200
RECORD_BYTES = 256
PER_PUT = 500


@dataclass(frozen=True, slots=True)
class Put:
    number: int
    key: str
    sequence_number: str
    sent_ms: float


@dataclass
class Stream:
    """A stream that is written through boto3, and everything that was put into it, in order."""

    client: Any
    name: str
    keys: int = KEYS
    puts: list[Put] = field(default_factory=list)

    @staticmethod
    def create(client: Any, name: str, shards: int, *, keys: int = KEYS) -> Stream:
        client.create_stream(StreamName=name, ShardCount=shards)
        client.get_waiter("stream_exists").wait(StreamName=name, WaiterConfig={"Delay": 1})
        return Stream(client, name, keys)

    def put(self, count: int, *, per_s: float | None = None, per_put: int = PER_PUT) -> None:
        """``per_put`` records a call. Raises ``RuntimeError`` if an entry is refused: repeated, it
        would change the order."""
        started_s, first = time.monotonic(), len(self.puts)
        while (done := len(self.puts) - first) < count:
            if per_s is not None:
                time.sleep(max(0.0, started_s + done / per_s - time.monotonic()))
            self._put_some(min(per_put, count - done))

    def _put_some(self, count: int) -> None:
        named = [(n, f"key-{n % self.keys}") for n in range(len(self.puts), len(self.puts) + count)]
        entries = [{"Data": payload(n, key), "PartitionKey": key} for n, key in named]
        sent_ms = time.time() * 1000
        answer = self.client.put_records(StreamName=self.name, Records=entries)
        if answer["FailedRecordCount"]:
            raise RuntimeError(f"{answer['FailedRecordCount']} of {count} records were refused")
        for (number, key), entry in zip(named, answer["Records"], strict=True):
            self.puts.append(Put(number, key, entry["SequenceNumber"], sent_ms))

    def put_one_into_each_shard(self) -> None:
        """Of an evenly cut stream."""
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        for number, shard in enumerate(shards):
            self.client.put_record(
                StreamName=self.name,
                Data=payload(number, "key-0"),
                PartitionKey="key-0",
                ExplicitHashKey=shard["HashKeyRange"]["StartingHashKey"],
            )

    def split(self, shard_id: str) -> None:
        """In the middle of its range."""
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        (shard,) = [each for each in shards if each["ShardId"] == shard_id]
        first, last = (
            int(shard["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending")
        )
        self.client.split_shard(
            StreamName=self.name,
            ShardToSplit=shard_id,
            NewStartingHashKey=str((first + last) // 2 + 1),
        )


def payload(number: int, key: str) -> bytes:
    """The number comes first, for readers that print the payload."""
    return f"{number} {key} ".encode().ljust(RECORD_BYTES, b".")


@dataclass(frozen=True)
class Verdict:
    """Of the lines that a reader printed."""

    records: int
    different: int
    missing: int
    out_of_order: int
    """Records first seen after a later one of their key."""
    strangers: int
    """Lines that name no record."""

    @property
    def holds(self) -> bool:
        return not (self.missing or self.out_of_order or self.strangers)

    def __str__(self) -> str:
        twice = self.records - self.different
        return (
            f"{self.different} records, {twice} twice, {self.missing} missing, "
            f"{self.out_of_order} out of their key's order"
            + (f", {self.strangers} unknown" if self.strangers else "")
        )


def judged(puts: Iterable[Put], lines: Iterable[str]) -> Verdict:
    """``lines`` begin with a record's sequence number, or with its number (its payload)."""
    by_name = dict(_names(puts))
    seen: set[int] = set()
    latest: defaultdict[str, int] = defaultdict(lambda: -1)
    records = strangers = out_of_order = 0
    for line in lines:
        put = by_name.get(line.split(" ", 1)[0])
        if put is None:
            strangers += 1
            continue
        records += 1
        if put.number in seen:
            continue
        seen.add(put.number)
        out_of_order += put.number < latest[put.key]
        latest[put.key] = max(latest[put.key], put.number)
    missing = len(by_name) // 2 - len(seen)
    return Verdict(records, len(seen), missing, out_of_order, strangers)


def _names(puts: Iterable[Put]) -> Iterator[tuple[str, Put]]:
    for put in puts:
        yield put.sequence_number, put
        yield str(put.number), put
