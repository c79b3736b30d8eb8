"""Batch handlers: up to ``size`` records, or what has arrived a while after the first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shardlane.consumer.bell import Bell
from shardlane.consumer.crew import TIMER_SLACK_S
from shardlane.consumer.delivery import Delivery
from shardlane.consumer.desk import Desk
from shardlane.consumer.handler_call import BatchCall
from shardlane.consumer.reading import Reading
from shardlane.consumer.settlement import Settlement


class BatchCrew:
    """One batch at a time, in arrival order.

    A batch that fails is halved until the record that fails is alone; the failure policy decides
    about that one, and what follows of its key waits behind it. So records before and beside it
    may be handled more than once.
    """

    def __init__(
        self, desk: Desk, settlement: Settlement, call: BatchCall, size: int, wait_s: float
    ) -> None:
        self._desk = desk
        self._settlement = settlement
        self._call = call
        self._size = size
        self._wait_s = wait_s
        self._bell = Bell()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._desk.on_work = self._bell.ring
        self._desk.on_due = self._wake_at
        self._task = asyncio.create_task(self._work())

    async def failed(self) -> None:
        assert self._task is not None
        await asyncio.wait([self._task])
        self._task.result()

    def abandon(self, reading: Reading) -> None:
        """A batch with records of a lost shard goes on: the others in it are still ours. Its
        records say so (``lease_lost``), and none of the shard is in the next one."""

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --- inside -----------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await self._handle(await self._collect())
            await asyncio.sleep(0)  # leases are renewed on this loop, however busy the handler

    async def _collect(self) -> list[Delivery]:
        """Frees a place in the channel for each record that it takes."""
        loop, batch = asyncio.get_running_loop(), list[Delivery]()
        until_s: float | None = None
        while len(batch) < self._size:
            delivery = self._desk.take()
            if delivery is not None:
                batch.append(delivery)
                if until_s is None:
                    until_s = loop.time() + self._wait_s
            elif not await self._bell.wait(until_s) and until_s is not None:
                break
        return batch

    async def _handle(self, batch: Sequence[Delivery]) -> None:
        batch = await self._startable(batch)
        if not batch:
            return
        error = await self._call([each.record for each in batch])
        if error is None:
            for each in batch:
                self._settlement.handled(each)
        elif len(batch) == 1:
            await self._settlement.failed(batch[0], error)
        else:
            half = len(batch) // 2
            await self._handle(batch[:half])
            await self._handle(batch[half:])

    async def _startable(self, batch: Sequence[Delivery]) -> list[Delivery]:
        """Without those whose lease has ended meanwhile, or whose key has failed in this batch."""
        wanted = []
        for place, each in enumerate(batch):
            if not self._desk.may_start(each):
                self._settlement.forget(each)
            elif self._desk.joins_its_key(each):
                continue
            elif await self._is_to_be_handled(batch, place):
                wanted.append(each)
        # Once more: parking takes a while.
        late = [each for each in wanted if not self._desk.may_start(each)]
        for each in late:
            self._settlement.forget(each)
        return [each for each in wanted if each not in late]

    async def _is_to_be_handled(self, batch: Sequence[Delivery], place: int) -> bool:
        delivery, settlement = batch[place], self._settlement
        if not settlement.is_quarantined(delivery):
            return True
        return await settlement.park_behind(delivery, batch[place + 1 :])

    def _wake_at(self, due_s: float) -> None:
        asyncio.get_running_loop().call_at(due_s + TIMER_SLACK_S, self._bell.ring)
