"""The local Kinesis alone, in the foreground: what ``shardlane-lab kinesis`` runs."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import signal
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from shardlane_lab.local_kinesis.certificate import self_signed, server_context
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import FaultPlan
from shardlane_lab.local_kinesis.http import KinesisServer
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.metric import Observer


def system_wall_ms() -> float:
    """This machine's clock in epoch milliseconds."""
    return time.time() * 1000.0


def made_tls(certificate_path: Path) -> ssl.SSLContext:
    """For ``tls`` of ``serve``: makes a certificate and writes it (not its key) to
    ``certificate_path``, for the clients to trust, e.g. as ``AWS_CA_BUNDLE``.

    Raises ``OSError`` if the file cannot be written.
    """
    certificate, private_key = self_signed(dt.datetime.now(dt.UTC))
    certificate_path.write_bytes(certificate)
    return server_context(certificate, private_key)


async def serve(
    port: int,
    *,
    delays: Delays | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    faults: FaultPlan | None = None,
    tls: ssl.SSLContext | None = None,
    observer: Observer | None = None,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Serves on 127.0.0.1 until SIGINT, SIGTERM or cancellation; ``ready`` is told the port.

    Raises ``OSError`` that names the port if it is taken.
    """
    # Records live long and hold no cycles: collecting after every few hundred of them costs a
    # third of the write rate.
    gc.set_threshold(100_000, 50, 100)
    model = Kinesis(delays=delays, limits=limits, seed=seed, faults=faults, observer=observer)
    server = KinesisServer(model, system_wall_ms, tls=tls)
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
