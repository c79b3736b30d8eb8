"""The shards that this process holds now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from shardlane.consumer.ending import Undrained
from shardlane.consumer.held_shard import HeldShard, Outcome
from shardlane.consumer.lease import Lease
from shardlane.consumer.surroundings import Surroundings
from shardlane.consumer.tenure import Tenure

_log = logging.getLogger(__name__)


class Holdings:
    """At most one reader for each shard, whatever the table says."""

    def __init__(self, me: str, around: Surroundings) -> None:
        self.on_end: Callable[[], None] = _nobody
        """Called when a shard has ended: its children may start now."""
        self.undrained: list[Undrained] = []
        """Shards that were given up while handlers still ran."""
        self._me = me
        self._around = around
        self._held: dict[str, HeldShard] = {}
        self._tasks: dict[asyncio.Task[Outcome], HeldShard] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def shard_ids(self) -> frozenset[str]:
        return frozenset(self._held)

    @property
    def shards(self) -> Iterable[HeldShard]:
        return self._held.values()

    def hold(self, row: Lease, sent_s: float) -> None:
        """Begins the tenure that a TAKE has won; ``sent_s`` is when that was sent."""
        if row.shard_id in self._held:
            raise RuntimeError(f"{row.shard_id} is held already")
        self._around.counters.leases_taken += 1
        held = HeldShard(Tenure(row, self._me, sent_s, self._around.terms), self._around)
        _log.info("%s: taken, at %s", row.shard_id, row.checkpoint.value)
        self._held[row.shard_id] = held
        task = asyncio.create_task(held.run())
        self._tasks[task] = held
        task.add_done_callback(self._ended)

    async def failed(self) -> None:
        """Waits until a reader fails for good, and raises why."""
        await asyncio.shield(self._failure)

    async def drain_all(self) -> None:
        """Finishes what has started and releases everything, each shard within its deadline."""
        for held in self._held.values():
            held.drain()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def abort(self) -> None:
        """Drops everything as it stands; the leases run out."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        held = self._tasks.pop(task)
        del self._held[held.shard_id]
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            if not self._failure.done():
                self._failure.set_exception(error)
            return
        _log.info("%s: %s", held.shard_id, task.result().value)
        if held.reading.running and task.result() is not Outcome.LOST:
            self.undrained.append(Undrained(held.shard_id, held.reading.running))
        if task.result() is Outcome.ENDED:
            self._around.counters.shards_ended += 1
            self.on_end()


def _nobody() -> None:
    """Nobody waits."""
