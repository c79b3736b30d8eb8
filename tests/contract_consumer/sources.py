"""Both kinds of source, each through real boto3 over HTTP and in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from shardlane import Backoff, Record
from shardlane.consumer import (
    Boto3Kinesis,
    Bounds,
    Ending,
    Position,
    Source,
    Stats,
    Subscription,
    Terms,
    Tuning,
)
from shardlane.consumer.fan_out_reader import SubscriptionRules
from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.machine import Machine
from shardlane_lab.in_process_port import InProcessPort
from shardlane_lab.local_kinesis.client import InProcessKinesis
from shardlane_lab.local_kinesis.faults import Fault, FaultPlan
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import run_virtual, wall_ms
from tests.sim.stage import SharedMemoryStore

T = TypeVar("T")

STREAM = "orders"
PATIENCE_S = 30.0
SHARD = "shardId-000000000000"

RULES = SubscriptionRules(floor_s=0.3, in_use_s=0.1, backoff=Backoff(first_ms=10, most_ms=100))
"""The service's five seconds, made short: the tests' service knows of it."""
LIMITS = Limits(resubscribe_s=0.25, subscribe_per_s=None, creating_streams=None)


@dataclass(frozen=True, slots=True)
class Kind:
    """A source by a way to the service."""

    fan_out: bool
    over_http: bool

    def __str__(self) -> str:
        source = "fan-out" if self.fan_out else "polling"
        return f"{source}-{'boto3' if self.over_http else 'virtual'}"

    @property
    def source(self) -> Source:
        if self.fan_out:
            return Source(consumer_name="app", rules=RULES)
        return Source.polling(0.2)

    @property
    def reading(self) -> str:
        """The operation that reads."""
        return "SubscribeToShard" if self.fan_out else "GetRecords"


KINDS = tuple(Kind(fan_out, over_http) for fan_out in (False, True) for over_http in (True, False))


class Scene:
    """A stream of one shard that consumers read."""

    def __init__(self, kind: Kind, model: Kinesis, port: KinesisPort, wall: Callable[[], float]):
        self.kind = kind
        self.model = model
        self.port = port
        self.seen: list[Record] = []
        self.leases = SharedMemoryStore()
        self._wall_ms = wall
        self._runs: dict[Subscription, asyncio.Task[Ending]] = {}

    # --- the stream -------------------------------------------------------------------------

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.model.call(operation, {"StreamName": STREAM, **request}, self._wall_ms())

    def put(self, data: bytes, key: str = "k") -> str:
        """Returns the sequence number."""
        return str(self.call("PutRecord", PartitionKey=key, Data=data)["SequenceNumber"])

    def put_all(self, *data: str) -> None:
        for each in data:
            self.put(each.encode())

    async def newest_arrival_ms(self) -> int:
        """Of the last record of the first shard."""
        request = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "TRIM_HORIZON"}
        opened = await self.port.call("GetShardIterator", request)
        read = await self.port.call("GetRecords", {"ShardIterator": opened["ShardIterator"]})
        arrival_s: float = read["Records"][-1]["ApproximateArrivalTimestamp"]
        return round(arrival_s * 1000)

    async def until_active(self) -> None:
        described = "StreamDescriptionSummary"
        await self.until(
            lambda: self.call("DescribeStreamSummary")[described]["StreamStatus"] == "ACTIVE"
        )

    # --- consumers --------------------------------------------------------------------------

    def start(
        self,
        handler: Callable[[Record], Awaitable[None]] | None = None,
        start: Position | None = None,
        source: Source | None = None,
        **bounds: int,
    ) -> Subscription:
        subscription = Subscription(
            STREAM,
            source=source if source is not None else self.kind.source,
            leases=self.leases,
            start=start if start is not None else Position.horizon(),
            kinesis=self.port,
            tuning=Tuning(
                bounds=Bounds(**bounds),
                machine=Machine(wall_ms=self._wall_ms, random=Random(1), has_threads=False),
                terms=Terms(),
            ),
        )

        async def handle(record: Record) -> None:
            self.seen.append(record)
            if handler is not None:
                await handler(record)

        self._runs[subscription] = asyncio.create_task(subscription.run(handle))
        return subscription

    async def until_reading(self, subscription: Subscription) -> None:
        """Until a read was answered, or a subscription stands."""
        await self.until(lambda: _is_reading(subscription))

    async def stop(self, subscription: Subscription) -> Ending:
        subscription.stop()
        return await self.ended(subscription)

    async def ended(self, subscription: Subscription) -> Ending:
        async with asyncio.timeout(PATIENCE_S):
            return await self._runs[subscription]

    async def stop_all(self) -> None:
        for subscription in self._runs:
            subscription.stop()
        await asyncio.gather(*self._runs.values(), return_exceptions=True)

    # --- what came --------------------------------------------------------------------------

    @property
    def data(self) -> list[str]:
        return [each.text() for each in self.seen]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - what it waits for has no event
                await asyncio.sleep(0.01)

    async def until_seen(self, count: int) -> None:
        await self.until(lambda: len(self.seen) >= count)


def stats_of(subscription: Subscription) -> Stats | None:
    """None while it does not run yet."""
    return subscription.stats() if subscription._session is not None else None


def _is_reading(subscription: Subscription) -> bool:
    stats = stats_of(subscription)
    return stats is not None and stats.counters.reads + stats.counters.subscribes > 0


def play(
    kind: Kind, scene: Callable[[Scene], Coroutine[Any, Any, T]], *faults: Fault, shards: int = 1
) -> T:
    """Plays a scene; ``faults`` happen to what it reads."""
    model = Kinesis(limits=LIMITS, faults=FaultPlan(faults) if faults else None)

    async def main() -> T:
        async with _service(kind, model) as (port, wall):
            staged = Scene(kind, model, port, wall)
            staged.call("CreateStream", ShardCount=shards)
            await staged.until_active()
            try:
                return await scene(staged)
            finally:
                await staged.stop_all()

    return asyncio.run(main()) if kind.over_http else run_virtual(main())


@asynccontextmanager
async def _service(
    kind: Kind, model: Kinesis
) -> AsyncIterator[tuple[KinesisPort, Callable[[], float]]]:
    if not kind.over_http:
        yield InProcessPort(InProcessKinesis(model, wall_ms), wall_ms), wall_ms
        return
    server = KinesisServer(model, _now_ms)
    port = Boto3Kinesis(
        endpoint_url=f"http://127.0.0.1:{await server.start()}",
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    try:
        yield port, _now_ms
    finally:
        await port.close()
        await server.stop()


def _now_ms() -> float:
    return time.time() * 1000
