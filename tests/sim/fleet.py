"""One machine of the fleet: it runs the real subscription, may crash, freeze, and start again."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from shardlane import Backoff, Drop, FailurePolicy, Record
from shardlane.consumer.bounds import Bounds
from shardlane.consumer.ending import Ending
from shardlane.consumer.errors import ConsumerError
from shardlane.consumer.held_record import HeldRecord
from shardlane.consumer.machine import Machine
from shardlane.consumer.memory_lease_store import MemoryLeaseTable
from shardlane.consumer.position import Position
from shardlane.consumer.source import Source
from shardlane.consumer.subscription import Subscription
from shardlane.consumer.tuning import Tuning
from shardlane.consumer.worker_plan import WorkerPlan, by_key, workers
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.virtual_time import wall_ms
from tests.sim.faulty_kinesis import FaultyKinesis
from tests.sim.faulty_lot import FaultyLot, Lot
from tests.sim.faulty_table import FaultyStore
from tests.sim.history import Setting
from tests.sim.ledger import Ledger
from tests.sim.network import Link, Sky
from tests.sim.seeded_loop import MACHINE, SeededLoop

STREAM = "orders"
CONSUMER = "app"


@dataclass(slots=True)
class Services:
    """What all machines share."""

    model: Kinesis
    table: MemoryLeaseTable
    ledger: Ledger
    sky: Sky
    loop: SeededLoop
    start: Position
    lot: Lot


class Trouble:
    """What a record's handler does, by its number: the same on every machine and attempt."""

    def __init__(self, seed: int, setting: Setting) -> None:
        self._seed = seed
        self._setting = setting
        self._failures: dict[int, int] = {}

    def takes_s(self, number: int) -> float:
        random = Random(f"{self._seed}/takes/{number}")
        if random.random() >= self._setting.slow:
            return random.choice([0.0, random.uniform(0, 0.03)])
        return random.choice([2.0, 4.0, 4.0, 14.0])

    def fails(self, number: int) -> bool:
        """Whether this attempt fails; the first one to three of some records do."""
        random = Random(f"{self._seed}/fails/{number}")
        if random.random() >= self._setting.failing:
            return False
        attempts = self._failures[number] = self._failures.get(number, 0) + 1
        return attempts <= random.randint(1, 3)

    def is_dropped(self, number: int) -> bool:
        return Random(f"{self._seed}/drops/{number}").random() < 0.02


class SimulatedMachine:
    """Runs one incarnation after the other."""

    def __init__(self, name: str, seed: int, setting: Setting, services: Services) -> None:
        self.name = name
        self._seed = seed
        self._setting = setting
        self._services = services
        self._trouble = Trouble(seed, setting)
        self._incarnation = 0
        self._owner = ""
        self._links: list[Link] = []
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[Ending | None] | None = None
        self.crashed: list[asyncio.Task[Ending | None]] = []
        self.endings: list[Ending] = []
        self._frozen = ""

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        if self.is_running:
            return
        self._incarnation += 1
        self._owner = f"shardlane/{self.name}/{self._incarnation}"
        self._subscription = self._new_subscription()
        context = contextvars.copy_context()
        context.run(MACHINE.set, self._owner)
        self._task = self._services.loop.create_task(self._run(self._subscription), context=context)

    def crash(self) -> None:
        """Everything stops where it is, for ever; what is on its way still arrives."""
        if self._task is None or self._task.done():
            return
        self._services.loop.freeze(self._owner)
        self.crashed.append(self._task)
        self._task = None

    def freeze(self, for_s: float) -> None:
        if self.is_running and not self._frozen:
            self._frozen = self._owner
            self._services.loop.freeze(self._owner)
            self._services.loop.call_later(for_s, self._thaw, self._owner)

    def _thaw(self, owner: str) -> None:
        if self._frozen == owner:
            self._frozen = ""
            if self._task is not None and self._owner == owner:
                self._services.loop.thaw(owner)

    def cut(self, for_s: float) -> None:
        links = tuple(self._links)
        for link in links:
            link.is_cut = True
        self._services.loop.call_later(for_s, _mend, links)

    def stop(self) -> None:
        if self._subscription is not None and self.is_running:
            self._subscription.stop()

    def seek(self) -> None:
        if self._subscription is not None and self.is_running:
            context = contextvars.copy_context()
            context.run(MACHINE.set, self._owner)
            seek = _seek_quietly(self._subscription)
            self._seeking = self._services.loop.create_task(seek, context=context)

    async def ended(self) -> Ending | None:
        return None if self._task is None else await self._task

    def bury(self) -> None:
        """At the end of the world: what crashed may be cleaned up."""
        for number in range(1, self._incarnation + 1):
            self._services.loop.thaw(f"shardlane/{self.name}/{number}")
        for task in self.crashed:
            task.cancel()

    # --- inside -----------------------------------------------------------------------------

    def _new_subscription(self) -> Subscription:
        setting, services = self._setting, self._services
        purpose = f"{self._seed}/{self._owner}"
        store_link = Link(services.sky, Random(f"{purpose}/leases"))
        kinesis_link = Link(services.sky, Random(f"{purpose}/kinesis"))
        lot_link = Link(services.sky, Random(f"{purpose}/lot"))
        self._links = [store_link, kinesis_link, lot_link]
        owner, skew_ms = self._owner, setting.skew_s.get(self.name, 0) * 1000
        source = Source.fan_out(CONSUMER) if setting.fan_out else Source.polling(setting.interval_s)
        return Subscription(
            STREAM,
            source=source,
            leases=FaultyStore(services.table, store_link, services.ledger),
            start=services.start,
            on_failure=self._policy(lot_link),
            kinesis=FaultyKinesis(services.model, wall_ms, kinesis_link, services.ledger, owner),
            tuning=Tuning(
                bounds=Bounds(
                    channel_records=setting.channel_records,
                    unsettled_records=setting.unsettled_records,
                ),
                machine=Machine(
                    owner=lambda: owner,
                    wall_ms=lambda: wall_ms() + skew_ms,
                    random=Random(f"{purpose}/machine"),
                    has_threads=False,
                ),
            ),
        )

    def _policy(self, lot_link: Link) -> FailurePolicy:
        backoff = Backoff(first_ms=50, most_ms=500)
        if not self._setting.parks:
            return FailurePolicy.stop(2, backoff)
        lot = FaultyLot(self._services.lot, lot_link).as_lot()
        return FailurePolicy.park(lot, 2, backoff, max_new_keys=2)

    async def _run(self, subscription: Subscription) -> Ending | None:
        try:
            if self._setting.plan == "batches":
                ending = await subscription.run_batches(self._handle_batch, size=7, wait_ms=30)
            else:
                ending = await subscription.run(self._handle, self._plan())
        except Exception as error:  # nothing in a history justifies it
            self._services.ledger.fail(f"{self.name} died: {error!r}")
            return None
        self.endings.append(ending)
        return ending

    def _plan(self) -> WorkerPlan:
        setting = self._setting
        if setting.plan == "loop":
            return WorkerPlan()
        return workers(setting.workers, by_key if setting.plan == "keyed" else None)

    async def _handle(self, record: Record) -> None:
        number = self._started(record)
        self._services.ledger.reached(self.name, number)
        await asyncio.sleep(self._trouble.takes_s(number))
        if self._trouble.fails(number):
            raise RuntimeError("trouble")
        self._settled(number)

    async def _handle_batch(self, records: Sequence[Record]) -> None:
        numbers = [self._started(record) for record in records]
        await asyncio.sleep(max(map(self._trouble.takes_s, numbers)) / 4)
        if any(self._trouble.fails(number) for number in numbers):
            raise RuntimeError("trouble in the batch")
        for number in numbers:
            self._services.ledger.reached(self.name, number)
            self._settled(number, may_drop=False)

    def _started(self, record: Record) -> int:
        assert isinstance(record, HeldRecord)
        number = int(record.data)
        self._check_memory()
        self._services.ledger.started(self.name, self._owner, number, record.shard_id, record.fence)
        return number

    def _settled(self, number: int, *, may_drop: bool = True) -> None:
        if may_drop and self._trouble.is_dropped(number):
            self._services.ledger.settled(self.name, number, "drops")
            raise Drop("not wanted")
        self._services.ledger.settled(self.name, number)

    def _check_memory(self) -> None:
        assert self._subscription is not None
        stats = self._subscription.stats()
        self._services.ledger.held(
            self.name,
            depth=stats.channel_depth,
            most_depth=self._setting.channel_records,
            unsettled=max((shard.unsettled for shard in stats.shards), default=0),
            most=self._setting.unsettled_records,
        )


def _mend(links: Sequence[Link]) -> None:
    for link in links:
        link.is_cut = False


async def _seek_quietly(subscription: Subscription) -> None:
    """A seek of a subscription that does not run yet, or any more, is no matter."""
    with contextlib.suppress(ConsumerError):
        await subscription.seek(Position.horizon())
