"""One run of a subscription on one stream: puts the parts together, starts and stops them.

::

    shard → reader → channel → lanes → handler → settlement → watermark → lease
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.channel import Channel
from shardlane.consumer.counters import Counters
from shardlane.consumer.crew import Crew
from shardlane.consumer.desk import Desk
from shardlane.consumer.ending import Ending
from shardlane.consumer.held_shard import HeldShard
from shardlane.consumer.holdings import Holdings
from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.lease_store import LeaseStore, LeaseTable, StreamIdentity
from shardlane.consumer.loop_caller import LoopCaller
from shardlane.consumer.machine import Machine
from shardlane.consumer.observer import Observer
from shardlane.consumer.position import Position
from shardlane.consumer.quarantine import Quarantine
from shardlane.consumer.reader import Service
from shardlane.consumer.registrar import Registrar
from shardlane.consumer.settlement import Settlement
from shardlane.consumer.sightings import Sightings
from shardlane.consumer.source import ReaderFactory, Source
from shardlane.consumer.stats import Stats
from shardlane.consumer.stats_sink import StatsSink
from shardlane.consumer.stream import PatientCaller, identified
from shardlane.consumer.surroundings import Surroundings
from shardlane.consumer.terms import Terms
from shardlane.consumer.worker_plan import WorkerPlan
from shardlane.policy import Policies

_log = logging.getLogger(__name__)

CrewFactory = Callable[[Desk, Settlement], Crew]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a subscription was asked to be; checked, and the same for every run."""

    stream: str
    source: Source
    leases: LeaseStore
    start: Position
    policies: Policies
    terms: Terms
    bounds: Bounds
    machine: Machine
    report_to: StatsSink | None
    report_s: float


@dataclass(frozen=True, slots=True)
class _Parts:
    """What exists once the service and the lease table have answered."""

    observer: Observer
    registrar: Registrar
    holdings: Holdings


class Session:
    """Made for one run. Nothing is asked of the service before ``run``."""

    def __init__(
        self, settings: Settings, kinesis: KinesisPort, plan: WorkerPlan, make_crew: CrewFactory
    ) -> None:
        self._settings = settings
        self._kinesis = kinesis
        self._clock_s = asyncio.get_running_loop().time
        self._me = settings.machine.owner()
        self._counters = Counters()
        self._desk = Desk(Channel(plan.lanes(), settings.bounds, plan.key_of), self._clock_s)
        draw = settings.machine.random.random
        lot = settings.policies.lot
        self._quarantine = None if lot is None else Quarantine(lot, settings.machine)
        self._settlement = Settlement(
            self._desk, settings.policies, self._counters, self._clock_s, draw, self._quarantine
        )
        self._crew = make_crew(self._desk, self._settlement)
        self._parts: _Parts | None = None

    @property
    def counters(self) -> Counters:
        return self._counters

    @property
    def held_shards(self) -> tuple[HeldShard, ...]:
        return () if self._parts is None else tuple(self._parts.holdings.shards)

    async def run(self, stop: asyncio.Event) -> Ending:
        """Consumes until ``stop`` is set; then finishes what has started and gives the leases up.

        Raises what no waiting will cure, after the same winding up.
        """
        preparing = asyncio.create_task(self._prepare())
        stopping = asyncio.create_task(stop.wait())
        reporting = asyncio.create_task(self._report())
        try:
            await asyncio.wait([preparing, stopping], return_when=asyncio.FIRST_COMPLETED)
            if preparing.done() and not stop.is_set():
                self._parts = preparing.result()
                await self._consume(self._parts, stopping)
            return self._ending()
        finally:
            await _cancelled(preparing, stopping, reporting)
            self._tell()
            if self._quarantine is not None:
                self._quarantine.close()

    async def seek(self, position: Position) -> tuple[str, ...]:
        """Moves the held shards that the position is about; returns those that were moved."""
        start_ms = position.start_ms(self._kinesis.service_ms())
        asked = [
            held
            for held in self.held_shards
            if position.shard_id is None or position.shard_id == held.shard_id
        ]
        moved = await asyncio.gather(
            *(held.seek(position.checkpoint_for(held.shard_id), start_ms) for held in asked)
        )
        return tuple(held.shard_id for held, done in zip(asked, moved, strict=True) if done)

    def stats(self) -> Stats:
        now_s, wall_ms = self._clock_s(), self._settings.machine.wall_ms()
        patience_s = self._settings.source.patience_s
        return Stats(
            counters=replace(self._counters),
            shards=tuple(
                held.stats(now_s, wall_ms, patience_s)
                for held in sorted(self.held_shards, key=lambda held: held.shard_id)
            ),
            channel_depth=self._desk.depth,
            keys_aside=self._desk.keys_aside,
            held=tuple(sorted(self._settlement.held.values(), key=lambda held: held.since_s)),
        )

    # --- inside -----------------------------------------------------------------------------

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(self._settings.report_s)
            self._tell()

    def _tell(self) -> None:
        sink = self._settings.report_to
        if sink is None:
            return
        try:
            sink.take(self.stats(), self._settings.machine.wall_ms())
        except Exception as error:  # somebody else's code, and no reason to stop consuming
            _log.warning("the stats could not be reported: %r", error)

    async def _prepare(self) -> _Parts:
        """Everything that needs an answer before the first lease can be taken."""
        settings, random = self._settings, self._settings.machine.random
        caller = PatientCaller(self._kinesis, random)
        stream = await identified(caller, settings.stream)
        service = Service(self._kinesis, stream.arn, stream.name, random)
        make_reader = await settings.source.reader_factory(
            service,
            caller,
            fresh_s=settings.terms.renewal_s,
            alone=not settings.leases.is_shared,
        )
        table = await settings.leases.open(stream)
        return self._wired(stream, caller, service, table, make_reader)

    def _wired(
        self,
        stream: StreamIdentity,
        caller: PatientCaller,
        service: Service,
        table: LeaseTable,
        make_reader: ReaderFactory,
    ) -> _Parts:
        settings = self._settings
        sightings = Sightings(settings.terms.ttl_s)
        registrar = Registrar(
            stream,
            settings.start,
            caller=caller,
            table=table,
            sightings=sightings,
            terms=settings.terms,
            random=service.random,
        )
        around = Surroundings(
            service=service,
            table=table,
            terms=settings.terms,
            desk=self._desk,
            counters=self._counters,
            make_reader=make_reader,
            family=registrar,
            call_on_loop=LoopCaller(asyncio.get_running_loop()),
            abandon=self._crew.abandon,
            learn_gates=_nothing_to_learn,
        )
        if self._quarantine is not None:
            self._quarantine.owner_check = lambda shard_id: table.owner_check(shard_id, self._me)
            around = replace(around, learn_gates=self._quarantine.learn)
        holdings = Holdings(self._me, around)
        observer = Observer(
            self._me,
            settings.start,
            around=around,
            holdings=holdings,
            registrar=registrar,
            sightings=sightings,
        )
        registrar.on_change = holdings.on_end = observer.hurry
        self._desk.on_expired = lambda reading: reading.notify()
        return _Parts(observer, registrar, holdings)

    async def _consume(self, parts: _Parts, stopping: asyncio.Task[Any]) -> None:
        self._crew.start()
        looking = asyncio.create_task(parts.observer.run())
        auditing = asyncio.create_task(parts.registrar.run())
        failing = asyncio.create_task(parts.holdings.failed())
        crew_failing = asyncio.create_task(self._crew.failed())
        work = (looking, auditing, failing, crew_failing)
        try:
            await asyncio.wait([*work, stopping], return_when=asyncio.FIRST_COMPLETED)
            await _cancelled(auditing)
            if not crew_failing.done():  # without a crew nothing that has started can finish
                await parts.observer.stop()
                await parts.holdings.drain_all()
            for task in work:
                if task.done() and not task.cancelled():
                    task.result()
        finally:
            await _cancelled(*work)
            await self._crew.stop()
            await parts.holdings.abort()

    def _ending(self) -> Ending:
        undrained = () if self._parts is None else tuple(self._parts.holdings.undrained)
        for each in undrained:
            _log.warning("%s: given up with %d handlers running", each.shard_id, each.running)
        return Ending(replace(self._counters), undrained)


async def _nothing_to_learn() -> None:
    """Nothing is ever parked."""


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancels them and waits until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
