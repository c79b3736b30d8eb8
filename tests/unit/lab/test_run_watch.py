"""When a run has ended, and what ends it before."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from shardlane_lab.collector import Collector
from shardlane_lab.errors import ProcessError
from shardlane_lab.processes.parent import Process
from shardlane_lab.progress import Progress
from shardlane_lab.run_watch import Watch, until_received
from shardlane_lab.virtual_time import run_virtual

QUIET_S = 30.0


def of_one_consumer(records: int) -> Collector:
    collector = Collector("r", ["a"])
    for seq in range(records):
        collector.event({"event": "sent", "seq": seq, "put_ms": 1.0})
    return collector


def receive(collector: Collector, seq: int) -> None:
    collector.sample(
        {"label": "a", "seq": seq, "sent_ms": 1, "arrival_ms": 2, "recv_ms": 3, "batch": 1}
    )


def waited_s(collector: Collector, at_s: dict[int, int]) -> float:
    """How long the wait took, with the number that comes at each of these seconds."""

    async def wait() -> float:
        clock = asyncio.get_running_loop().time

        async def look() -> None:
            await asyncio.sleep(1.0)
            if (seq := at_s.get(round(clock()))) is not None:
                receive(collector, seq)

        await until_received(collector, QUIET_S, look)
        return clock()

    return run_virtual(wait())


@pytest.mark.parametrize(
    ("at_s", "expected_s"),
    [
        ({2: 0, 5: 1}, 5),
        ({}, QUIET_S),
        ({20: 0, 45: 1}, 45),
        ({20: 0}, 20 + QUIET_S),
        ({20: 0, 40: 0}, 40 + QUIET_S),
    ],
    ids=[
        "all came",
        "silence",
        "each within the silence",
        "one is missing",
        "a duplicate is a sign",
    ],
)
def test_a_run_ends_when_all_has_come_or_nothing_comes(
    at_s: dict[int, int], expected_s: float
) -> None:
    assert waited_s(of_one_consumer(2), at_s) == expected_s


def test_a_consumer_that_ends_ends_the_run() -> None:
    collector = of_one_consumer(1)
    alive, ended = (
        Process("get_records", {"label": label}, collector.event) for label in ("alive", "ended")
    )
    shown = io.StringIO()
    watch = Watch(
        consumers=[alive, ended],
        collector=collector,
        progress=Progress("run", Console(file=shown)),
        seconds=60.0,
        every_s=0.5,
    )

    async def look_twice() -> None:
        await watch.look()
        assert asyncio.get_running_loop().time() == 0.5
        ended.finished.set()
        await watch.look()

    with pytest.raises(ProcessError, match="ended ended while the run went on"):
        run_virtual(look_twice())
    assert "0 of 60 s, 1 sent, 0 received" in shown.getvalue()
