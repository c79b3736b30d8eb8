"""When subscriptions take their steps: woken, timed, and whatever happens to one of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from shardlane_lab.local_kinesis.wire.push_schedule import PushSchedule
from shardlane_lab.virtual_time import run_virtual, wall_ms


class Steps:
    """Notes its steps and says the waits that it was given, then that it waits to be woken."""

    def __init__(self, *waits_s: float, broken: bool = False) -> None:
        self.ready = False
        self.timer_s = float("inf")
        self.taken_s: list[float] = []
        self.failed = False
        self._waits_s = list(waits_s)
        self._broken = broken

    def step(self, now_ms: float) -> float:
        self.taken_s.append(round(asyncio.get_running_loop().time(), 6))
        if self._broken:
            raise ValueError("broken")
        return self._waits_s.pop(0) if self._waits_s else float("inf")

    def fail(self) -> None:
        logging.getLogger(__name__).exception("as the caller promises")
        self.failed = True


def run(scene: Callable[[PushSchedule], None], seconds: float = 10.0) -> None:
    async def main() -> None:
        schedule = PushSchedule(wall_ms)
        scene(schedule)
        await asyncio.sleep(seconds)

    run_virtual(main())


def test_a_step_says_when_the_next_one_is() -> None:
    first, second = Steps(0.5, 0.25), Steps(0.6)

    def scene(schedule: PushSchedule) -> None:
        schedule.wake(first)
        schedule.wake(second)

    run(scene)
    assert first.taken_s == [0.0, 0.5, 0.75]
    assert second.taken_s == [0.0, 0.6]


def test_who_is_woken_twice_in_a_turn_steps_once() -> None:
    steps = Steps()

    def scene(schedule: PushSchedule) -> None:
        schedule.wake(steps)
        schedule.wake(steps)

    run(scene)
    assert steps.taken_s == [0.0]


def test_a_timer_never_waits_behind_a_later_one() -> None:
    """The later wait of the first step stands in the heap; the earlier one must win, and the
    first must not bring a step of its own any more."""
    steps, other = Steps(5.0, 0.5), Steps(3.0)

    def scene(schedule: PushSchedule) -> None:
        schedule.wake(steps)
        schedule.wake(other)
        asyncio.get_running_loop().call_later(1.0, schedule.wake, steps)

    run(scene)
    assert steps.taken_s == [0.0, 1.0, 1.5]
    assert other.taken_s == [0.0, 3.0]


def test_an_early_step_may_wait_on() -> None:
    """One timer each: a step at the earlier time finds nothing and asks for the later."""
    steps = Steps(1.0, 5.0, 4.5)

    def scene(schedule: PushSchedule) -> None:
        schedule.wake(steps)
        asyncio.get_running_loop().call_later(0.5, schedule.wake, steps)

    run(scene)
    assert steps.taken_s == [0.0, 0.5, 1.0, 5.5]


def test_one_that_breaks_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = Steps(broken=True), Steps(1.0)

    def scene(schedule: PushSchedule) -> None:
        schedule.wake(broken)
        schedule.wake(sound)

    run(scene)
    assert broken.failed
    assert broken.taken_s == [0.0]
    assert sound.taken_s == [0.0, 1.0]
    assert "ValueError: broken" in caplog.text


def test_nothing_steps_after_the_end() -> None:
    steps = Steps(1.0, 1.0, 1.0, 1.0)

    def scene(schedule: PushSchedule) -> None:
        loop = asyncio.get_running_loop()
        schedule.wake(steps)
        loop.call_later(1.5, schedule.stop)
        loop.call_later(1.7, schedule.wake, steps)

    run(scene)
    assert steps.taken_s == [0.0, 1.0]
