"""How a running consumer is shown: a table on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shardlane.consumer.ending import Ending
from shardlane.consumer.stats import ShardStats, Stats

if TYPE_CHECKING:
    from rich.table import Table

LINE_S = 5.0
TABLE_S = 0.5
MOST_SHARDS = 20
"""Rows of the table: the latest shards, for a screen has an end."""

StatsNow = Callable[[], Stats | None]
"""None while nothing runs yet."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """Two moments' difference, and the later moment."""

    stats: Stats
    per_s: float
    """Records settled a second between the two."""


class Meter:
    """Makes rates of counts."""

    def __init__(self, now_s: float) -> None:
        self._settled = 0
        self._at_s = now_s

    def pulse(self, stats: Stats, now_s: float) -> Pulse:
        counters = stats.counters
        settled = counters.handled + counters.dropped + counters.parked
        lasted_s = now_s - self._at_s
        per_s = max(0.0, settled - self._settled) / lasted_s if lasted_s > 0 else 0.0
        self._settled, self._at_s = settled, now_s
        return Pulse(stats, per_s)


def line(stream: str, pulse: Pulse, *, keys: bool) -> str:
    """One line, e.g. for a container's log."""
    stats, counters = pulse.stats, pulse.stats.counters
    parts = [
        f"{pulse.per_s:,.0f} records/s",
        f"{counters.handled:,} handled",
        f"lag {seconds(stats.lag_ms)}",
        f"channel {stats.channel_depth}",
        f"{len(stats.shards)} shards: {short_ids(stats.shards) or 'none'}",
    ]
    parts += [f"{count:,} {what}" for what, count in _troubles(stats) if count]
    if stats.latest is not None and stats.latest.lag_ms > 1000:
        parts.append(f"latest {_latest(stats.latest, keys=keys)}")
    return f"{stream}: " + ", ".join(parts)


def _troubles(stats: Stats) -> list[tuple[str, int]]:
    counters = stats.counters
    return [
        ("dropped", counters.dropped),
        ("parked", counters.parked),
        ("retries", counters.retries),
        ("throttles", counters.throttles),
        ("read errors", counters.read_errors),
        ("leases lost", counters.leases_lost),
        ("keys held up", len(stats.held)),
    ]


def _latest(shard: ShardStats, *, keys: bool) -> str:
    found = short_id(shard.shard_id)
    if shard.oldest_sequence_number is not None:
        found += f" at {shard.oldest_sequence_number}"
    if keys and shard.oldest_key is not None:
        found += f" (key {shard.oldest_key!r})"
    return found


def short_id(shard_id: str) -> str:
    """Its number alone: ``shardId-000000000007`` is 7."""
    number = shard_id.removeprefix("shardId-")
    return str(int(number)) if number.isdigit() else shard_id


def short_ids(shards: tuple[ShardStats, ...]) -> str:
    named = [short_id(each.shard_id) for each in shards]
    more = len(named) - MOST_SHARDS
    return " ".join(named[:MOST_SHARDS]) + (f" and {more} more" if more > 0 else "")


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms < 600_000 else f"{ms / 60_000:,.0f} min"


def table(stream: str, pulse: Pulse, *, keys: bool) -> Table:
    from rich.table import Table

    found = Table(title=line(stream, pulse, keys=keys), title_justify="left", expand=False)
    for name in ("shard", "lag", "behind", "unsettled", "running", "waiting", "checkpoint"):
        found.add_column(name, justify="left" if name in ("shard", "checkpoint") else "right")
    if keys:
        found.add_column("oldest key")
    by_lag = sorted(pulse.stats.shards, key=lambda each: -each.lag_ms)
    for each in by_lag[:MOST_SHARDS]:
        found.add_row(*_row(each, keys=keys))
    return found


def _row(shard: ShardStats, *, keys: bool) -> list[str]:
    row = [
        shard.shard_id,
        seconds(shard.lag_ms),
        seconds(shard.behind_ms),
        f"{shard.unsettled:,}",
        str(shard.running),
        str(shard.waiting),
        shard.checkpoint if len(shard.checkpoint) < 20 else f"…{shard.checkpoint[-12:]}",
    ]
    return [*row, shard.oldest_key or ""] if keys else row


def farewell(stream: str, ending: Ending) -> str:
    """What a stopped consumer says: what it did, and what it did not finish."""
    counters = ending.counters
    text = (
        f"{stream}: stopped; {counters.handled:,} handled, {counters.dropped:,} dropped, "
        f"{counters.parked:,} parked"
    )
    if ending.is_clean:
        return f"{text}; everything that had started was finished"
    left = ", ".join(f"{each.shard_id} ({each.running} running)" for each in ending.undrained)
    return f"{text}; not drained: {left}: those records come again"


async def show(stream: str, now: StatsNow, *, keys: bool, console: Any = None) -> None:
    """Shows until it is cancelled: a table on ``console`` (rich) if there is one, lines on stderr
    otherwise."""
    if console is None:
        await _lines(stream, now, keys=keys)
        return
    from rich.live import Live

    loop = asyncio.get_running_loop()
    meter = Meter(loop.time())
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            await asyncio.sleep(TABLE_S)
            stats = now()
            if stats is not None:
                shown = table(stream, meter.pulse(stats, loop.time()), keys=keys)
                live.update(shown, refresh=True)


async def _lines(stream: str, now: StatsNow, *, keys: bool) -> None:
    loop = asyncio.get_running_loop()
    meter = Meter(loop.time())
    while True:
        await asyncio.sleep(LINE_S)
        stats = now()
        if stats is not None:
            said = line(stream, meter.pulse(stats, loop.time()), keys=keys)
            print(said, file=sys.stderr, flush=True)
