"""When polls go out: on the dot, spread over the readers, within the share, and never alone."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from shardlane.consumer.pace import Pace, Pacing
from shardlane_lab.local_kinesis.limiter import Limiter, SlidingWindow, TokenBucket


def starts_of(
    pace: Pace, until_s: float, random: Random, *, begin_s: float = 0.0, at_tip: bool = True
) -> list[float]:
    """When a reader starts its reads if every one is answered at once."""
    now_s, starts = begin_s, list[float]()
    while now_s < until_s:
        pace.started(now_s)
        starts.append(now_s)
        pace.answered(0, random.random(), at_tip=at_tip)
        now_s = pace.due_s
    return starts


def gaps_s(starts: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(starts)]


def test_after_its_first_wait_a_reader_polls_on_the_dot() -> None:
    first, *others = gaps_s(starts_of(Pace(Pacing(interval_s=0.5)), 60.0, Random(1)))
    assert 0.5 <= first < 1.0
    assert others == pytest.approx([0.5] * len(others))


def test_readers_that_start_together_do_not_stay_together() -> None:
    random = Random(2)
    readers = [starts_of(Pace(Pacing(interval_s=5.0)), 60.0, random) for _ in range(500)]
    phases = sorted(starts[-1] % 5.0 for starts in readers)
    by_second = [
        bisect_left(phases, second + 1) - bisect_left(phases, second) for second in range(5)
    ]
    assert min(by_second) > 70, by_second  # of 100; at one moment before
    assert max(by_second) < 130, by_second


def test_hundreds_of_slow_readers_wake_up_together() -> None:
    """At fifty moments of five seconds, not one by one; and hardly later than asked for."""
    random = Random(6)
    moments = set[float]()
    for _ in range(500):
        pace, now_s = Pace(Pacing(interval_s=5.0)), random.random() * 0.01
        for _ in range(12):
            pace.started(now_s)
            pace.answered(0, random.random(), at_tip=True)
            assert pace.due_s - now_s >= 5.0
            now_s = pace.due_s + random.random() * 0.01  # timers are late
        moments.add(pace.due_s)
        assert 12 * 5.0 <= now_s <= 13 * 5.1 + 0.2
    assert len(moments) < 120


def test_a_record_waits_no_longer_than_the_interval() -> None:
    """p99 of what polling every 200 ms adds: 202 ms; up to a tenth more at every poll is 214."""
    random = Random(3)
    starts = starts_of(Pace(Pacing(interval_s=0.2)), 600.0, random)
    waits = []
    for _ in range(20_000):
        arrival_s = random.uniform(1.0, 590.0)
        waits.append(starts[bisect_left(starts, arrival_s)] - arrival_s)
    assert statistics.quantiles(waits, n=100)[98] == pytest.approx(0.202, abs=0.001)


@pytest.mark.parametrize("seed", range(20))
def test_no_second_has_more_reads_than_the_share_whatever_happens(seed: int) -> None:
    random = Random(seed)
    share = random.choice((5.0, 2.5, 1.0))
    pace = Pace(Pacing(interval_s=random.choice((0.0, 0.2, 1.0)), reads_per_s=share))
    now_s, starts = 0.0, list[float]()
    while len(starts) < 500:
        pace.started(now_s)
        starts.append(now_s)
        if random.random() < 0.2:
            pace.refused(now_s + random.random() * 0.05, random.random())
        else:
            size_bytes = random.choice((0, 1_000, 5_000_000))
            pace.answered(size_bytes, random.random(), at_tip=random.random() < 0.5)
        now_s = pace.due_s + random.choice((0.0, 0.0, random.random()))
    assert min(gaps_s(starts)) >= 1 / share - 1e-9


def test_a_refusal_makes_it_leave_room_for_a_minute() -> None:
    random, pace = Random(4), Pace(Pacing(interval_s=0.2))
    before = starts_of(pace, 30.0, random)
    pace.started(pace.due_s)
    pace.refused(pace.due_s, random.random())
    after = starts_of(pace, 120.0, random, begin_s=pace.due_s)
    crowded, alone = (
        gaps_s([each for each in after if each < 90.0]),
        gaps_s([each for each in after if each > 92.0]),
    )
    assert gaps_s(before)[1:] == pytest.approx([0.204] * (len(before) - 2))
    assert 0.22 < statistics.mean(crowded) < 0.23
    assert alone == pytest.approx([0.204] * len(alone))


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize(
    "limiter",
    [lambda: TokenBucket(5.0, 5.0), lambda: TokenBucket(5.0, 1.0), lambda: SlidingWindow(5.0)],
    ids=["burst", "no-burst", "sliding-window"],
)
def test_it_starves_no_other_reader_of_its_shard(
    limiter: Callable[[], Limiter], others: int
) -> None:
    """Others that ask once a second and come back a second after a refusal: as Lambda's poller."""
    random, gate = Random(5), limiter()
    pace = Pace(Pacing(interval_s=0.2))
    due = [random.random() for _ in range(others)]
    granted = [0] * (others + 1)

    def asks(who: int, now_s: float) -> bool:
        allowed = gate.allows(now_s * 1000, 1.0)
        if allowed:
            gate.charge(now_s * 1000, 1.0)
            granted[who] += 1
        return allowed

    now_s = 0.0
    while now_s < 600.0:
        now_s = min(max(pace.due_s, 0.0), *due)
        if now_s in due:
            who = due.index(now_s)
            asks(who, now_s)
            due[who] = now_s + 0.9 + 0.2 * random.random()
        else:
            pace.started(now_s)
            if asks(others, now_s):
                pace.answered(0, random.random(), at_tip=True)
            else:
                pace.refused(now_s, random.random())
    assert min(granted[:-1]) > 30, granted
    assert granted[-1] > 600, granted
