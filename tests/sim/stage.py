"""One stream, one table and a few real subscriptions in virtual time, for scenarios that a test
tells step by step."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.ending import Ending
from shardlane.consumer.handler_call import BatchHandler
from shardlane.consumer.kinesis_port import EventSource
from shardlane.consumer.lease import Lease
from shardlane.consumer.lease_store import LeaseStore, StreamIdentity
from shardlane.consumer.machine import Machine
from shardlane.consumer.memory_lease_store import MemoryLeaseStore, MemoryLeaseTable
from shardlane.consumer.position import Position
from shardlane.consumer.source import Source
from shardlane.consumer.stats_sink import StatsSink
from shardlane.consumer.subscription import Subscription
from shardlane.consumer.terms import Terms
from shardlane.consumer.tuning import Tuning
from shardlane.consumer.worker_plan import ONE_LOOP, WorkerPlan
from shardlane.parking.store import OwnerCheck
from shardlane.policy import OnFailure
from shardlane.record import Record
from shardlane_lab.in_process_port import InProcessPort
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import run_virtual, wall_ms

T = TypeVar("T")

STREAM = "orders"
Meddle = Callable[[str, Mapping[str, Any]], None]
"""Sees a call before it goes out, and may raise what the service would."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A handler call."""

    by: str
    data: str
    key: str
    shard_id: str
    at_s: float


class Port(InProcessPort):
    """Counts calls, and lets a test meddle with them."""

    def __init__(self, model: Kinesis) -> None:
        super().__init__(InProcessKinesis(model, wall_ms), wall_ms)
        self.calls: Counter[str] = Counter()
        self.times: list[tuple[str, float]] = []
        self.meddle: Meddle = _leave
        self.most_records = 10_000
        """In one answer of GetRecords."""
        self.page_size: int | None = None
        """Of ListShards."""
        self.listing: Callable[[dict[str, Any]], dict[str, Any]] = dict
        """Changes the answers of ListShards."""
        self._opened: Counter[str] = Counter()
        self.events: Callable[[EventSource], EventSource] = _as_it_is

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._note(operation)
        self.meddle(operation, request)
        if operation == "GetShardIterator":
            self._opened[request["ShardId"]] += 1
        if operation == "GetRecords":
            request = {**request, "Limit": self.most_records}
        if operation == "ListShards" and self.page_size is not None:
            request = {**request, "MaxResults": self.page_size}
        answer = await super().call(operation, request)
        return self.listing(dict(answer)) if operation == "ListShards" else answer

    def opened(self, shard_id: str) -> int:
        """How often an iterator of the shard was asked for."""
        return self._opened[shard_id]

    async def subscribe(self, request: Mapping[str, Any]) -> Any:
        self._note("SubscribeToShard")
        self.meddle("SubscribeToShard", request)
        return self.events(await super().subscribe(request))

    def _note(self, operation: str) -> None:
        self.calls[operation] += 1
        self.times.append((operation, asyncio.get_running_loop().time()))


class SharedMemoryStore(MemoryLeaseStore):
    """For several subscriptions of one process, which stand for several processes."""

    @property
    def is_shared(self) -> bool:
        return True

    async def open(self, stream: StreamIdentity) -> MemoryLeaseTable:
        self._tables.setdefault(stream.arn, SharedTable())
        return await super().open(stream)

    def owns(self, check: OwnerCheck) -> bool:
        """For a parking store in memory: what a transaction on both tables checks."""
        row = next(iter(self._tables.values())).rows.get(check["shard_id"])
        return row is not None and row.held_by(check["me"])


class SharedTable(MemoryLeaseTable):
    def owner_check(self, shard_id: str, me: str) -> OwnerCheck:
        return {"shard_id": shard_id, "me": me}


class Stage:
    def __init__(self, shards: int, limits: Limits | None) -> None:
        self.model = Kinesis(limits=limits)
        self.port = Port(self.model)
        self.store: LeaseStore = SharedMemoryStore()
        self.seen: list[Seen] = []
        self._runs: list[tuple[Subscription, asyncio.Task[Ending]]] = []
        self._names = (f"i{number}" for number in itertools.count(1))
        self.call("CreateStream", ShardCount=shards)

    # --- the stream -------------------------------------------------------------------------

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.model.call(operation, {"StreamName": STREAM, **request}, wall_ms())

    def put(self, data: str, key: str = "k", hash_key: int | None = None) -> str:
        """Returns the sequence number."""
        explicit = {} if hash_key is None else {"ExplicitHashKey": str(hash_key)}
        answer = self.call("PutRecord", PartitionKey=key, Data=data.encode(), **explicit)
        return str(answer["SequenceNumber"])

    def split(self, shard_id: str = "shardId-000000000000") -> None:
        listed = self.call("ListShards")["Shards"]
        keys = next(each["HashKeyRange"] for each in listed if each["ShardId"] == shard_id)
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2
        self.call("SplitShard", ShardToSplit=shard_id, NewStartingHashKey=str(middle))

    def merge(self, shard_id: str, other: str) -> None:
        self.call("MergeShards", ShardToMerge=shard_id, AdjacentShardToMerge=other)

    # --- subscriptions ----------------------------------------------------------------------

    def start(
        self,
        handler: Callable[[Record], Awaitable[None]] | None = None,
        plan: WorkerPlan = ONE_LOOP,
        *,
        source: Source | None = None,
        start: Position | None = None,
        store: LeaseStore | None = None,
        on_failure: OnFailure | None = None,
        terms: Terms | None = None,
        bounds: Bounds | None = None,
        port: Any = None,
        report_to: StatsSink | None = None,
    ) -> Subscription:
        """Starts one that notes what it sees, and then calls ``handler``."""
        name = next(self._names)
        subscription = Subscription(
            STREAM,
            source=source if source is not None else Source.polling(),
            leases=store if store is not None else self.store,
            start=start if start is not None else Position.horizon(),
            on_failure=on_failure,
            kinesis=port if port is not None else self.port,
            report_to=report_to,
            tuning=_tuning(name, terms, bounds),
        )

        async def handle(record: Record) -> None:
            self.seen.append(
                Seen(name, record.text(), record.partition_key, record.shard_id, _now_s())
            )
            if handler is not None:
                await handler(record)

        self._runs.append((subscription, asyncio.create_task(subscription.run(handle, plan))))
        return subscription

    def start_batches(
        self, handler: BatchHandler, *, on_failure: OnFailure | None = None, size: int = 100
    ) -> Subscription:
        """Starts one that calls ``handler`` with batches, and notes nothing."""
        subscription = Subscription(
            STREAM,
            leases=self.store,
            start=Position.horizon(),
            on_failure=on_failure,
            kinesis=self.port,
            tuning=_tuning(next(self._names), None, None),
        )
        run = subscription.run_batches(handler, size=size)
        self._runs.append((subscription, asyncio.create_task(run)))
        return subscription

    async def ended(self, subscription: Subscription) -> Ending:
        """Waits for the end of its run."""
        return await next(task for each, task in self._runs if each is subscription)

    async def stop(self, subscription: Subscription) -> Ending:
        subscription.stop()
        return await self.ended(subscription)

    async def kill(self, subscription: Subscription) -> None:
        """It releases nothing."""
        task = next(task for each, task in self._runs if each is subscription)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def stop_all(self) -> None:
        for subscription, _ in self._runs:
            subscription.stop()
        await asyncio.gather(*(task for _, task in self._runs), return_exceptions=True)

    @property
    def data(self) -> list[str]:
        return [each.data for each in self.seen]

    async def until(self, count: int, within_s: float = 60.0) -> None:
        """Waits until so many handler calls have begun."""
        async with asyncio.timeout(within_s):
            while len(self.seen) < count:  # noqa: ASYNC110 - virtual time: it costs nothing
                await asyncio.sleep(0.01)

    @property
    def table(self) -> MemoryLeaseTable:
        """The table that all subscriptions share."""
        assert isinstance(self.store, MemoryLeaseStore)
        return next(iter(self.store._tables.values()))

    @property
    def rows(self) -> dict[str, Lease]:
        return dict(self.table.rows)


def _tuning(name: str, terms: Terms | None, bounds: Bounds | None) -> Tuning:
    return Tuning(
        terms=terms if terms is not None else Terms(),
        bounds=bounds if bounds is not None else Bounds(),
        machine=Machine(
            owner=lambda: f"shardlane/{name}",
            wall_ms=wall_ms,
            random=Random(name),
            has_threads=False,
        ),
    )


def play(
    scene: Callable[[Stage], Coroutine[Any, Any, T]],
    *,
    shards: int = 1,
    limits: Limits | None = None,
) -> T:
    """Plays a scene in virtual time, and stops what it leaves running."""

    async def main() -> T:
        async with _staged(shards, limits) as stage:
            return await scene(stage)

    return run_virtual(main())


@asynccontextmanager
async def _staged(shards: int, limits: Limits | None) -> AsyncIterator[Stage]:
    stage = Stage(shards, limits)
    await asyncio.sleep(0.5)
    try:
        yield stage
    finally:
        await stage.stop_all()


def _leave(operation: str, request: Mapping[str, Any]) -> None:
    """Nobody meddles."""


def _as_it_is(source: EventSource) -> EventSource:
    return source


def _now_s() -> float:
    return asyncio.get_running_loop().time()
