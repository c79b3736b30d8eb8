"""The local Kinesis alone, in the foreground: what ``shardlane-lab kinesis`` runs."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.metric import Observer


def system_wall_ms() -> float:
    """This machine's clock in epoch milliseconds."""
    return time.time() * 1000.0


async def serve(
    port: int,
    *,
    delays: Delays | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Serves on 127.0.0.1 until SIGINT, SIGTERM or cancellation; ``ready`` is told the port.

    Raises ``OSError`` that names the port if it is taken.
    """
    model = Kinesis(delays=delays, limits=limits, seed=seed, observer=observer)
    server = KinesisServer(model, system_wall_ms)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    try:
        bound = await server.start(port)
        if ready is not None:
            ready(bound)
        await stopped.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        await server.stop()
