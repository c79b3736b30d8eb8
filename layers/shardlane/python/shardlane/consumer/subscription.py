"""The consumer's front door: a stream, how to read it, and a handler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from shardlane.consumer.batch_crew import BatchCrew
from shardlane.consumer.crew import Crew
from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.consumer.default_kinesis import default_kinesis
from shardlane.consumer.desk import Desk
from shardlane.consumer.ending import Ending
from shardlane.consumer.errors import ConsumerError
from shardlane.consumer.handler_call import (
    BatchHandler,
    Handler,
    batch_call,
    is_async,
    one_at_a_time,
)
from shardlane.consumer.kinesis_port import KinesisPort
from shardlane.consumer.lease_store import LeaseStore
from shardlane.consumer.loop_caller import LoopCaller
from shardlane.consumer.memory_lease_store import MemoryLeaseStore
from shardlane.consumer.own_redrive import OwnRedrive
from shardlane.consumer.position import Position
from shardlane.consumer.registrar import StreamRecreated
from shardlane.consumer.session import CrewFactory, Session, Settings
from shardlane.consumer.settlement import Settlement
from shardlane.consumer.source import Source
from shardlane.consumer.stats import Stats
from shardlane.consumer.stats_sink import StatsSink
from shardlane.consumer.task_crew import TaskCrew
from shardlane.consumer.thread_crew import ThreadCrew
from shardlane.consumer.tuning import Tuning
from shardlane.consumer.worker_plan import ONE_LOOP, WorkerPlan, in_batches
from shardlane.errors import SettingsError
from shardlane.parking.redrive import Redriven
from shardlane.policy import FailurePolicy, OnFailure, Policies

_log = logging.getLogger(__name__)

MOST_BATCH = 10_000


class Subscription:
    """Delivers the records of a stream to a handler, at least once, in the order of each key.

    One run at a time. Subscriptions of one stream with the same leases share its shards.
    """

    def __init__(
        self,
        stream: str,
        *,
        source: Source | None = None,
        leases: LeaseStore | None = None,
        start: Position | None = None,
        on_failure: OnFailure | None = None,
        kinesis: KinesisPort | None = None,
        report_to: StatsSink | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        """``stream``: name or ARN. ``source``: default polling every 200 ms. ``leases``: default
        in memory. ``start``: where shards start that have no lease yet; default latest.
        ``on_failure``: default ``FailurePolicy.stop()``. ``kinesis``: the port to the service,
        which the caller closes; default boto3 as the environment configures it. ``report_to``:
        gets the stats every minute (see ``Tuning``), and once more at the
        end.

        Raises ``SettingsError`` before anything is sent.
        """
        if not stream:
            raise SettingsError("a subscription needs the name or the ARN of a stream")
        tuning = tuning if tuning is not None else Tuning()
        self._settings = Settings(
            stream=stream,
            source=source if source is not None else Source.polling(),
            leases=leases if leases is not None else MemoryLeaseStore(),
            start=start if start is not None else Position.latest(),
            policies=Policies(on_failure if on_failure is not None else FailurePolicy.stop()),
            terms=tuning.terms,
            bounds=tuning.bounds,
            machine=tuning.machine,
            report_to=report_to,
            report_s=tuning.report_s,
        )
        self._kinesis = kinesis
        self._session: Session | None = None
        self._stop: asyncio.Event | None = None
        self._call_on_loop: LoopCaller | None = None
        self._handle_one: Handler | None = None
        self._has_run = False
        self._stopped_early = False
        """Before its first run began: a task made for ``run`` begins later, and a signal may come
        at any time."""

    async def run(self, handler: Handler, plan: WorkerPlan = ONE_LOOP) -> Ending:
        """Calls ``handler(record)`` for every record until ``stop`` is called.

        Without a plan one record at a time, in arrival order; ``workers(8)`` up to eight at once
        without order, ``workers(8, by_key)`` with the order of keys. A plain handler runs in
        threads, an async one on the event loop.
        """

        def crew(desk: Desk, settlement: Settlement) -> Crew:
            if is_async(handler):
                return TaskCrew(desk, settlement, handler, plan.count)
            if not self._settings.machine.has_threads:
                return TaskCrew(desk, settlement, handler, plan.count, plain=True)
            return ThreadCrew(desk, settlement, handler, plan.count)

        return await self._run(plan, crew, handler)

    async def run_batches(
        self, handler: BatchHandler, *, size: int = 100, wait_ms: float = 50
    ) -> Ending:
        """Calls ``handler(records)`` with up to ``size`` records, or with what has arrived
        ``wait_ms`` after the first of them, one batch at a time, until ``stop`` is called."""
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_BATCH:
            raise SettingsError(f"size={size!r}: allowed are 1 to {MOST_BATCH}")
        if wait_ms < 0:
            raise SettingsError(f"wait_ms={wait_ms!r}: allowed is 0 or more milliseconds")
        call = batch_call(handler, threads=self._settings.machine.has_threads)

        def crew(desk: Desk, settlement: Settlement) -> Crew:
            return BatchCrew(desk, settlement, call, size, wait_ms / 1000)

        return await self._run(in_batches(size), crew, one_at_a_time(handler))

    def stop(self) -> None:
        """Ends the run: reading stops, what has started is finished, leases are given up. Before
        the first run it makes that one end as soon as it begins. May be called from any thread and
        from a signal handler; again, it does nothing."""
        self._stopped_early = self._stopped_early or not self._has_run
        if self._stop is not None and self._call_on_loop is not None:
            self._call_on_loop(self._stop.set)()

    async def seek(self, position: Position) -> tuple[str, ...]:
        """Moves the shards that this process holds to another position, and returns which.

        What was read before is discarded, and what still runs of it moves no checkpoint. Shards
        that other processes hold, and parents that are finished, stay as they are.
        """
        if self._session is None:
            raise ConsumerError("seek moves a running subscription: call run first")
        return await self._session.seek(position)

    async def redrive(
        self, keys: Collection[str] | None = None, *, timeout_s: float = 60.0
    ) -> dict[str, Redriven]:
        """Hands parked records of these keys, or of all that are quarantined, to the running
        handler, each key's in order until one fails; a key whose records are all handled is
        processed as usual again. Returns what came of each key.

        ``timeout_s``: the longest that the handler runs; it holds the key for a minute more. Any
        number of processes may redrive: one at a time has a key. Raises ``ConsumerError`` if
        nothing runs or nothing is parked, ``StoreUnavailable`` if the lot does not answer.
        """
        lot, session, handler = self._settings.policies.lot, self._session, self._handle_one
        if session is None or handler is None or self._stop is None:
            raise ConsumerError("redrive hands records to a running handler: call run first")
        if lot is None:
            raise ConsumerError("there is nothing to redrive: on_failure does not park")
        if not self._settings.machine.has_threads:
            raise ConsumerError("a redrive needs threads: there are none in virtual time")
        loop, stop = asyncio.get_running_loop(), self._stop
        redrive = OwnRedrive(lot, handler, loop, stop.is_set, session.counters)
        pool = DaemonPool("shardlane-redrive", 1)
        try:
            return await pool.run(redrive.run, None if keys is None else frozenset(keys), timeout_s)
        finally:
            pool.close()

    def stats(self) -> Stats:
        """How it is doing now. Raises ``ConsumerError`` if it does not run."""
        if self._session is None:
            raise ConsumerError("there are no stats: the subscription does not run")
        return self._session.stats()

    # --- inside -----------------------------------------------------------------------------

    async def _run(self, plan: WorkerPlan, make_crew: CrewFactory, handle_one: Handler) -> Ending:
        if self._stop is not None:
            raise ConsumerError("the subscription runs already: make another one")
        kinesis = self._kinesis if self._kinesis is not None else default_kinesis()
        self._handle_one = handle_one
        self._call_on_loop = LoopCaller(asyncio.get_running_loop())
        self._stop = asyncio.Event()
        self._has_run = True
        if self._stopped_early:
            self._stopped_early = False
            self._stop.set()
        if not self._settings.leases.is_shared:
            _log.warning(
                "leases are kept in memory: every process reads every shard, and after a restart "
                "the shards start as if for the first time"
            )
        try:
            return await self._sessions(kinesis, plan, make_crew, self._stop)
        finally:
            self._stop = self._session = None
            if self._kinesis is None:
                await kinesis.close()

    async def _sessions(
        self, kinesis: KinesisPort, plan: WorkerPlan, make_crew: CrewFactory, stop: asyncio.Event
    ) -> Ending:
        while True:
            self._session = Session(self._settings, kinesis, plan, make_crew)
            try:
                return await self._session.run(stop)
            except StreamRecreated as recreated:
                _log.error("%s; starting on the new stream", recreated)
