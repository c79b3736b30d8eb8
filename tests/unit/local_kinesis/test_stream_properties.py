"""Any interleaving of puts, splits, merges and reads: what must hold whatever happens."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.subscription import Subscription

EPOCH_MS = 1_780_000_000_000.0
KEYS = ["alice", "bob", "carol", "鍵", "e", "f", "g", "h"]


@dataclass
class World:
    """A stream, its clock, and what was put into it."""

    model: Kinesis
    now_ms: float = EPOCH_MS
    put: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.model.call(operation, request, self.now_ms)

    def shards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("ListShards", StreamName="orders")["Shards"]
        return found

    def open_shards(self) -> list[dict[str, Any]]:
        answer = self.call("ListShards", StreamName="orders", ShardFilter={"Type": "AT_LATEST"})
        return sorted(
            answer["Shards"], key=lambda each: int(each["HashKeyRange"]["StartingHashKey"])
        )

    # --- what may happen --------------------------------------------------------------------

    def do_put(self, number: int) -> None:
        key = KEYS[number % len(KEYS)]
        data = b"%b %d" % (key.encode(), len(self.put[key]))
        answer = self.call("PutRecord", StreamName="orders", Data=data, PartitionKey=key)
        self.put[key].append(data)
        hashed = int.from_bytes(hashlib.md5(key.encode()).digest(), "big")
        keys = next(
            each["HashKeyRange"]
            for each in self.open_shards()
            if each["ShardId"] == answer["ShardId"]
        )
        assert int(keys["StartingHashKey"]) <= hashed <= int(keys["EndingHashKey"])

    def do_split(self, number: int) -> None:
        shards = self.open_shards()
        if len(shards) == 8:
            return
        shard = shards[number % len(shards)]
        keys = shard["HashKeyRange"]
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"]) + 1) // 2
        self.call(
            "SplitShard",
            StreamName="orders",
            ShardToSplit=shard["ShardId"],
            NewStartingHashKey=str(middle),
        )

    def do_merge(self, number: int) -> None:
        shards = self.open_shards()
        if len(shards) < 2:
            return
        first = number % (len(shards) - 1)
        self.call(
            "MergeShards",
            StreamName="orders",
            ShardToMerge=shards[first]["ShardId"],
            AdjacentShardToMerge=shards[first + 1]["ShardId"],
        )

    def do_scale(self, number: int) -> None:
        count = len(self.open_shards())
        target = min(8, max(1, (count + 1) // 2 + number % (count + 1)))
        self.call(
            "UpdateShardCount",
            StreamName="orders",
            TargetShardCount=min(target, 2 * count),
            ScalingType="UNIFORM_SCALING",
        )

    def do_wait(self, number: int) -> None:
        self.now_ms += number * 7.0


class LineageReader:
    """Reads shards to their end, and a child once both its parents are read."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: list[bytes] = []
        self.keys: list[str] = []
        self._finished: set[str] = set()

    def ready(self) -> list[str]:
        """Shards that may be read now."""
        listed = self.world.shards()
        ids = {shard["ShardId"] for shard in listed}
        found = []
        for shard in listed:
            parents = {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")} - {None}
            if shard["ShardId"] not in self._finished and parents & ids <= self._finished:
                found.append(shard["ShardId"])
        return found

    def take(self, records: list[dict[str, Any]]) -> None:
        self.seen += [record["Data"] for record in records]
        self.keys += [record["PartitionKey"] for record in records]

    def finish(self, shard_id: str) -> None:
        self._finished.add(shard_id)

    def drain(self) -> None:
        while any(self.step(number) for number in range(40)):
            pass

    def step(self, number: int) -> bool:
        """Reads a little; returns whether it got anything or finished a shard."""
        raise NotImplementedError


class PollingReader(LineageReader):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._iterators: dict[str, str] = {}

    def step(self, number: int) -> bool:
        shards = self.ready()
        shard_id = shards[number % len(shards)]
        iterator = self._iterators.get(shard_id) or self._first(shard_id)
        answer = self.world.call("GetRecords", ShardIterator=iterator, Limit=1 + number % 5)
        self.take(answer["Records"])
        if "NextShardIterator" in answer:
            self._iterators[shard_id] = answer["NextShardIterator"]
            return bool(answer["Records"])
        self.finish(shard_id)
        return True

    def _first(self, shard_id: str) -> str:
        request = {"StreamName": "orders", "ShardIteratorType": "TRIM_HORIZON"}
        return str(
            self.world.call("GetShardIterator", ShardId=shard_id, **request)["ShardIterator"]
        )


class PushedReader(LineageReader):
    """Resubscribes now and then, from the last continuation."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        stream = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
        made = world.call("RegisterStreamConsumer", StreamARN=stream, ConsumerName="efo")
        self._consumer = made["Consumer"]["ConsumerARN"]
        self._open: dict[str, Subscription] = {}
        self._continuation: dict[str, str] = {}

    def step(self, number: int) -> bool:
        shards = self.ready()
        shard_id = shards[number % len(shards)]
        if number % 6 == 5 and shard_id in self._open:
            self._open.pop(shard_id).close()
        subscription = self._open.get(shard_id) or self._subscribe(shard_id)
        event = subscription.next_event(self.world.now_ms)
        if event is None:
            return False
        shown = event.as_dict()
        self.take(shown["Records"])
        if "ChildShards" in shown:
            self.finish(shard_id)
            return True
        self._continuation[shard_id] = shown["ContinuationSequenceNumber"]
        return bool(shown["Records"])

    def _subscribe(self, shard_id: str) -> Subscription:
        position = {"Type": "TRIM_HORIZON"}
        if shard_id in self._continuation:
            number = self._continuation[shard_id]
            position = {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": number}
        request = {
            "ConsumerARN": self._consumer,
            "ShardId": shard_id,
            "StartingPosition": position,
        }
        self._open[shard_id] = self.world.model.subscribe(request, self.world.now_ms)
        return self._open[shard_id]


ACTIONS = ["put", "put", "put", "poll", "poll", "push", "push", "split", "merge", "scale", "wait"]


@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 40)), max_size=60))
def test_each_reader_gets_every_record_once_and_in_order_of_its_key(
    actions: list[tuple[str, int]],
) -> None:
    # A reader here may come back at once: the five seconds have a test of their own.
    world = World(Kinesis(limits=dataclasses.replace(Limits.unlimited(), resubscribe_s=None)))
    world.call("CreateStream", StreamName="orders", ShardCount=2)
    polling, pushed = PollingReader(world), PushedReader(world)
    for action, number in actions:
        if action == "poll":
            polling.step(number)
        elif action == "push":
            pushed.step(number)
        else:
            getattr(world, f"do_{action}")(number)
    for reader in (polling, pushed):
        reader.drain()
        by_key: dict[str, list[bytes]] = defaultdict(list)
        for key, data in zip(reader.keys, reader.seen, strict=True):
            by_key[key].append(data)
        assert by_key == {key: put for key, put in world.put.items() if put}


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 300)), min_size=1, max_size=60),
    st.integers(100, 30_000),
)
def test_writes_never_exceed_a_shards_limits_and_are_not_under_granted(
    batches: list[tuple[int, int]], size_bytes: int
) -> None:
    """Against buckets computed here: 1 MiB and 1,000 records a second, within one record."""
    model, now_ms = Kinesis(), EPOCH_MS
    model.call("CreateStream", {"StreamName": "orders", "ShardCount": 1}, now_ms)
    bytes_left, records_left, at_ms = float(2**20), 1000.0, now_ms
    for count, wait_ms in batches:
        now_ms += wait_ms
        bytes_left = min(2**20, bytes_left + (now_ms - at_ms) * 2**20 / 1000)
        records_left = min(1000, records_left + (now_ms - at_ms))
        at_ms = now_ms
        entries = [{"Data": b"x" * (size_bytes - 1), "PartitionKey": "k"}] * (count * 50)
        answer = model.call("PutRecords", {"StreamName": "orders", "Records": entries}, now_ms)
        granted = len(entries) - answer["FailedRecordCount"]
        ideal = min(len(entries), int(bytes_left / size_bytes), int(records_left))
        assert abs(granted - ideal) <= 1
        bytes_left -= granted * size_bytes
        records_left -= granted


@given(st.lists(st.floats(0, 400), min_size=1, max_size=150))
def test_reads_are_granted_within_one_call_of_the_ideal_bucket(gaps_ms: list[float]) -> None:
    """Against a bucket computed with exact arithmetic: never more, and at most one call less."""
    model, now_ms = Kinesis(), EPOCH_MS
    model.call("CreateStream", {"StreamName": "orders", "ShardCount": 1}, now_ms)
    request = {
        "StreamName": "orders",
        "ShardId": "shardId-000000000000",
        "ShardIteratorType": "LATEST",
    }
    iterator = model.call("GetShardIterator", request, now_ms)
    granted, ideal = 0, 0
    level, at_ms = 5.0, now_ms
    for gap_ms in gaps_ms:
        now_ms += gap_ms
        level = min(5.0, level + (now_ms - at_ms) * 0.005)
        at_ms = now_ms
        if level >= 1:
            level -= 1
            ideal += 1
        try:
            model.call("GetRecords", iterator, now_ms)
            granted += 1
        except ServiceError as error:
            if error.code != "ProvisionedThroughputExceededException":
                raise
        assert ideal - 1 <= granted <= ideal + 1
