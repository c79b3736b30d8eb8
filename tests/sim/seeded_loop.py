"""A virtual-time loop on which several machines run: each can be frozen, and whose turn it is
among those that are ready is drawn from a seed."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Coroutine, Iterator
from contextvars import Context, ContextVar
from random import Random
from typing import Any, TypeVar

from shardlane_lab.virtual_time import VirtualTimeLoop

T = TypeVar("T")

WORLD = ""
"""The machine that everything else runs on: the services, the network, the checks."""
MACHINE: ContextVar[str] = ContextVar("machine", default=WORLD)
"""Which machine a callback runs on; tasks hand it on to what they start."""


def _nothing() -> None:
    """Runs in the place of a callback whose machine is frozen."""


class _Ready:
    """What asyncio's loop needs of its queue of ready callbacks: first in, first out for each
    machine, but between machines by lot."""

    def __init__(self, loop: asyncio.AbstractEventLoop, random: Random) -> None:
        self._random = random
        self._queues: dict[str, deque[asyncio.Handle]] = {}
        self._count = 0
        self._frozen: dict[str, list[asyncio.Handle]] = {}
        self._idle = asyncio.Handle(_nothing, (), loop)

    def append(self, handle: asyncio.Handle) -> None:
        context: Context = handle._context  # type: ignore[attr-defined]
        machine = context.get(MACHINE, WORLD)
        if machine in self._frozen:
            self._frozen[machine].append(handle)
            return
        queue = self._queues.get(machine)
        if queue is None:
            queue = self._queues[machine] = deque()
        queue.append(handle)
        self._count += 1

    def popleft(self) -> asyncio.Handle:
        if not self._count:
            return self._idle  # a machine was frozen within this step
        queues = self._queues
        machine = next(iter(queues))
        if len(queues) > 1:
            machine = self._random.choice(tuple(queues))
        queue = queues[machine]
        handle = queue.popleft()
        self._count -= 1
        if not queue:
            del queues[machine]
        return handle

    def freeze(self, machine: str) -> None:
        held = self._frozen.setdefault(machine, [])
        queue = self._queues.pop(machine, None)
        if queue is not None:
            held.extend(queue)
            self._count -= len(queue)

    def thaw(self, machine: str) -> None:
        for handle in self._frozen.pop(machine, ()):
            if not handle.cancelled():
                self.append(handle)

    def clear(self) -> None:
        self._queues.clear()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[asyncio.Handle]:
        for queue in self._queues.values():
            yield from queue


class SeededLoop(VirtualTimeLoop):
    """``freeze`` stops a machine between two callbacks: time goes on without it, as for a
    process that is stopped, or a virtual machine that is moved."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._machines = _Ready(self, Random(f"{seed}/turns"))
        self._ready: Any = self._machines

    def freeze(self, machine: str) -> None:
        self._machines.freeze(machine)

    def thaw(self, machine: str) -> None:
        self._machines.thaw(machine)


def run_seeded(main: Coroutine[Any, Any, T], seed: int) -> T:
    """Runs ``main`` to its end, and cancels what it leaves behind.

    Without the garbage collector: it finalizes what earlier runs left, at moments that no seed
    knows of.
    """
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=lambda: SeededLoop(seed)) as runner:
            return runner.run(main)
    finally:
        gc.enable()
