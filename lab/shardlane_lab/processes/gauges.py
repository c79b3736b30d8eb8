"""What a consumer process that uses the library says about itself, once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from shardlane_lab.gauge import EVERY_S, gauge_of
from shardlane_lab.processes.child import emit, now_ms

if TYPE_CHECKING:
    from shardlane.consumer.stats import Stats


def emit_gauge(stats: Stats, label: str) -> None:
    """One ``gauge`` event."""
    emit("gauge", **asdict(gauge_of(stats, label, now_ms())))


async def emit_gauges(stats: Callable[[], Stats], label: str, *, every_s: float = EVERY_S) -> None:
    """Until it is cancelled; ``stats`` is ``Subscription.stats`` of one that runs."""
    while True:
        emit_gauge(stats(), label)
        await asyncio.sleep(every_s)
