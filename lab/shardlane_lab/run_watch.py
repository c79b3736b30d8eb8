"""Looking after a run that goes on: are its processes alive, how far is it, is more to come?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from shardlane_lab.collector import Collector
from shardlane_lab.errors import ProcessError
from shardlane_lab.processes.parent import Process
from shardlane_lab.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Of a run in real time whose consumers are processes of this machine, some or all."""

    consumers: Sequence[Process]
    collector: Collector
    progress: Progress
    seconds: float
    """How long the run sends."""
    every_s: float

    async def look(self) -> None:
        """Shows how far the run is, and takes ``every_s``. Raises ``ProcessError`` if a consumer
        has ended: none does of itself."""
        for consumer in self.consumers:
            if consumer.finished.is_set():
                raise ProcessError(consumer.failure("ended while the run went on"))
        started_ms = self.collector.started_ms
        elapsed_s = 0.0 if started_ms is None else time.time() - started_ms / 1000
        self.progress.update(self.collector, elapsed_s, self.seconds)
        await asyncio.sleep(self.every_s)


async def until_received(
    collector: Collector, quiet_s: float, look: Callable[[], Awaitable[object]]
) -> None:
    """Until every consumer has every record, or no sample has come for ``quiet_s`` on the loop's
    clock. ``look`` is called in between and takes the time from one look to the next; what it
    raises ends the wait."""
    clock = asyncio.get_running_loop().time
    received, since_s = collector.received, clock()
    while not collector.all_arrived and clock() - since_s < quiet_s:
        await look()
        if collector.received != received:
            received, since_s = collector.received, clock()
