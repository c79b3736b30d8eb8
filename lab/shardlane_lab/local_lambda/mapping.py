"""An event source mapping: reads a stream's shards and drives a function with their records.

The flow of one shard::

    PolledShard or PushedShard -> ShardIntake -> SliceWorker (one for each concurrent batch)

Decisions are pure (``batch``, ``batch_response``, ``after_invoke``, ``shard_lineage``); what is
here only wires and waits, on a real event loop or in virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.checkpoint import (
    Checkpoints,
    MemoryCheckpoints,
    ShardEnd,
    Since,
    starting_point,
)
from shardlane_lab.local_lambda.errors import MappingFailed
from shardlane_lab.local_lambda.event_filter import Filters
from shardlane_lab.local_lambda.mapping_config import MappingConfig, MappingIdentity
from shardlane_lab.local_lambda.mapping_metrics import MappingMetrics
from shardlane_lab.local_lambda.patience import patiently
from shardlane_lab.local_lambda.poll_timing import PollTiming
from shardlane_lab.local_lambda.polled_shard import PolledShard
from shardlane_lab.local_lambda.ports import Destination, Invoke, Kinesis, WallClock
from shardlane_lab.local_lambda.pushed_shard import PushedShard
from shardlane_lab.local_lambda.shard_intake import ShardIntake
from shardlane_lab.local_lambda.shard_lineage import (
    ShardInfo,
    passed_over,
    position,
    shard_info,
    startable,
)
from shardlane_lab.local_lambda.slice_worker import SliceWorker, Work
from shardlane_lab.metric import Observer

Reader = PolledShard | PushedShard


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingPorts:
    """What a mapping works with."""

    kinesis: Kinesis
    """As ``EVENT_SOURCE_MAPPING`` calls it."""
    invoke: Invoke
    wall_ms: WallClock
    observer: Observer | None = None
    destination: Destination | None = None
    """``None`` without an on-failure destination."""
    checkpoints: Checkpoints = field(default_factory=MemoryCheckpoints)
    rng: random.Random = field(default_factory=random.Random)


class EventSourceMapping:
    """``run`` reads until it is cancelled or ``stop`` is called; ``ready`` is set when every
    shard that there was at the start has its iterator or its subscription."""

    def __init__(
        self,
        config: MappingConfig,
        identity: MappingIdentity,
        ports: MappingPorts,
        timing: PollTiming | None = None,
    ) -> None:
        self._config = config
        self._identity = identity
        self._ports = ports
        self._timing = timing or PollTiming.exact()
        self._filters = Filters(config.filters)
        self._metrics = MappingMetrics(
            identity, ports.observer, config.event_count_metrics, ports.wall_ms
        )
        self._finished: set[str] = set()
        self._running: set[str] = set()
        self._stopping = asyncio.Event()
        self.ready = asyncio.Event()

    def stop(self) -> None:
        """Ends ``run``; a batch under way is read again after the next start."""
        self._stopping.set()

    async def run(self) -> None:
        """Raises ``MappingFailed`` if the stream cannot be read, e.g. because it is gone."""
        running = asyncio.create_task(self._read_all())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
        except (ServiceError, BaseExceptionGroup) as error:
            refusal = _first_refusal(error)
            if refusal is None:
                raise
            raise MappingFailed(
                f"the mapping of {self._identity.function_name} on "
                f"{self._identity.source_arn}: {refusal}"
            ) from refusal
        finally:
            for task in (running, stopping):
                task.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)

    async def _read_all(self) -> None:
        work = await self._prepare()
        known = self._ports.checkpoints.load()
        shards = await self._list_shards()
        self._finished = {each for each, at in known.items() if isinstance(at, ShardEnd)}
        self._finished |= passed_over(shards, known, self._config)
        async with asyncio.TaskGroup() as group:
            for reader in self._start(group, work, shards):
                await reader.positioned.wait()
            self.ready.set()
            await asyncio.Event().wait()  # a stream has no end: it may be resharded at any time

    async def _prepare(self) -> Work:
        summary = await self._call(
            "DescribeStreamSummary", {"StreamARN": self._identity.stream_arn}
        )
        hours = summary["StreamDescriptionSummary"]["RetentionPeriodHours"]
        return Work(
            config=self._config,
            identity=self._identity,
            invoke=self._ports.invoke,
            destination=self._ports.destination,
            metrics=self._metrics,
            wall_ms=self._ports.wall_ms,
            retention_ms=hours * 3_600_000.0,
            before_invoke_s=0.0 if self._identity.consumer_arn else self._timing.before_invoke_s,
        )

    async def _list_shards(self) -> list[ShardInfo]:
        request = {"StreamARN": self._identity.stream_arn}
        shards: list[ShardInfo] = []
        while True:
            answer = await self._call("ListShards", request)
            shards += [shard_info(each) for each in answer["Shards"]]
            if "NextToken" not in answer:
                return shards
            request = {"NextToken": answer["NextToken"]}

    def _start(
        self, group: asyncio.TaskGroup, work: Work, shards: Sequence[ShardInfo]
    ) -> list[Reader]:
        """Starts every shard that may be read now."""
        known = self._ports.checkpoints.load()
        readers = []
        for shard in startable(shards, self._finished, self._running):
            self._running.add(shard.shard_id)
            start = again = position(shard, known, self._config)
            if start["Type"] == "LATEST":
                since = Since(self._ports.wall_ms())
                self._ports.checkpoints.save(shard.shard_id, since)
                again = starting_point(since)
            reader = self._reader(shard.shard_id, self._intake(shard.shard_id))
            readers.append(reader)
            group.create_task(self._read_shard(group, work, shard.shard_id, reader, start, again))
        return readers

    def _intake(self, shard_id: str) -> ShardIntake:
        return ShardIntake(
            shard_id, self._config, self._filters, self._metrics, self._ports.checkpoints
        )

    def _reader(self, shard_id: str, intake: ShardIntake) -> Reader:
        ports, identity = self._ports, self._identity
        if identity.consumer_arn is not None:
            return PushedShard(ports.kinesis, identity.consumer_arn, shard_id, intake)
        return PolledShard(
            ports.kinesis, identity.stream_arn, shard_id, intake, self._timing, ports.rng
        )

    async def _read_shard(
        self,
        mapping: asyncio.TaskGroup,
        work: Work,
        shard_id: str,
        reader: Reader,
        start: Mapping[str, Any],
        again: Mapping[str, Any],
    ) -> None:
        """Until the shard has ended and is settled; then its children may start."""
        async with asyncio.TaskGroup() as group:
            group.create_task(reader.read(start, again))
            for each in reader.intake.slices:
                group.create_task(SliceWorker(work, shard_id, reader.intake, each).run())
        self._ports.checkpoints.save(shard_id, ShardEnd())
        self._finished.add(shard_id)
        self._running.discard(shard_id)
        self._start(mapping, work, await self._list_shards())

    async def _call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return await patiently(self._ports.kinesis, self._ports.rng, operation, request)


def _first_refusal(error: BaseException) -> ServiceError | None:
    """Shards are read in groups of tasks, and a group wraps what its tasks raise."""
    if isinstance(error, BaseExceptionGroup):
        found = (_first_refusal(each) for each in error.exceptions)
        return next((each for each in found if each is not None), None)
    return error if isinstance(error, ServiceError) else None
