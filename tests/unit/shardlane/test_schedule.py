from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from shardlane.schedule import Schedule


def test_takes_the_lowest_position_whose_key_is_free() -> None:
    schedule = Schedule("aabca")
    assert [schedule.take() for _ in range(4)] == [0, 2, 3, None]
    schedule.settle(2)
    assert schedule.take() is None
    schedule.settle(0)
    assert schedule.take() == 1
    schedule.settle(1)
    assert schedule.take() == 4


def test_a_record_passed_over_comes_before_later_ones_of_other_keys() -> None:
    schedule = Schedule("aabc")
    assert [schedule.take(), schedule.take()] == [0, 2]
    schedule.settle(0)
    assert [schedule.take(), schedule.take()] == [1, 3]


def test_a_failure_bars_what_is_behind_and_lets_finish_what_is_before() -> None:
    schedule = Schedule("abab")
    assert [schedule.take(), schedule.take()] == [0, 1]
    schedule.fail(1)
    schedule.settle(0)
    assert schedule.take() is None
    assert schedule.finished
    assert schedule.unsettled() == [1, 2, 3]


def test_an_earlier_failure_bars_more() -> None:
    schedule = Schedule("abc")
    assert [schedule.take() for _ in range(3)] == [0, 1, 2]
    schedule.fail(2)
    schedule.fail(0)
    assert not schedule.finished  # b still runs
    schedule.settle(1)
    assert schedule.finished
    assert schedule.unsettled() == [0, 2]


def test_a_later_failure_bars_no_less() -> None:
    schedule = Schedule("abcb")
    assert [schedule.take() for _ in range(3)] == [0, 1, 2]
    schedule.fail(0)
    schedule.fail(2)
    schedule.settle(1)
    assert schedule.take() is None
    assert schedule.unsettled() == [0, 2, 3]


def test_a_key_that_waits_for_its_next_attempt_is_not_taken() -> None:
    schedule = Schedule("aab")
    assert schedule.take() == 0
    schedule.retry_at(0, 5.0)
    assert schedule.take() == 2
    schedule.settle(2)
    assert schedule.take() is None
    assert schedule.next_due_s() == 5.0
    assert not schedule.finished
    schedule.wake(4.9)
    assert schedule.take() is None
    schedule.wake(5.0)
    assert schedule.take() == 0


def test_an_attempt_behind_a_failure_is_not_waited_for() -> None:
    schedule = Schedule("ab")
    assert [schedule.take(), schedule.take()] == [0, 1]
    schedule.retry_at(1, 5.0)
    schedule.fail(0)
    assert schedule.next_due_s() is None
    assert schedule.finished


def test_stop_lets_nothing_more_start() -> None:
    schedule = Schedule("abc")
    assert schedule.take() == 0
    schedule.stop()
    assert schedule.take() is None
    schedule.settle(0)
    assert schedule.finished
    assert schedule.unsettled() == [1, 2]


def test_records_settled_behind_their_key_are_passed_over() -> None:
    schedule = Schedule("abaaa")
    assert [schedule.take(), schedule.take(), schedule.take()] == [0, 1, None]
    assert schedule.following(0, 3) == [0, 2, 3]
    schedule.settle_behind([2, 3])
    schedule.settle(0)
    assert schedule.following(4, 9) == [4]
    assert schedule.take() == 4


def test_an_empty_batch_is_finished() -> None:
    schedule = Schedule([])
    assert schedule.take() is None
    assert schedule.finished


@dataclass
class Trace:
    """What a simulated run of a batch did, and with what."""

    keys: list[int]
    started: list[int] = field(default_factory=list)
    handled: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    known_failure: list[int | None] = field(default_factory=list)
    """The lowest failure that was known when each start happened."""


def simulate(
    keys: list[int], fates: dict[int, str], workers: int, pick: Callable[[int], int]
) -> Trace:
    """Runs a schedule with ``workers`` workers; ``pick(n)`` chooses whose call ends next."""
    schedule, trace = Schedule([str(key) for key in keys]), Trace(keys)
    running: list[int] = []
    retried: set[int] = set()
    now_s = 0.0
    while True:
        while len(running) < workers and (position := schedule.take()) is not None:
            assert keys[position] not in {keys[each] for each in running}
            running.append(position)
            if position not in retried:
                trace.started.append(position)
                trace.known_failure.append(min(trace.failed, default=None))
        if not running:
            due_s = schedule.next_due_s()
            if due_s is None:
                break
            now_s = due_s
            schedule.wake(now_s)
            continue
        position = running.pop(pick(len(running)))
        fate = fates.get(position, "handle")
        if fate == "retry" and position not in retried:
            retried.add(position)
            schedule.retry_at(position, now_s + 1.0)
        elif fate == "fail":
            trace.failed.append(position)
            schedule.fail(position)
        else:
            trace.handled.append(position)
            schedule.settle(position)
    assert schedule.finished
    assert schedule.unsettled() == sorted(set(range(len(keys))) - set(trace.handled))
    return trace


@given(
    st.lists(st.integers(0, 5), max_size=40),
    st.dictionaries(st.integers(0, 39), st.sampled_from(["retry", "fail"]), max_size=8),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_every_interleaving_keeps_the_order_of_a_key(
    keys: list[int], fates: dict[int, str], workers: int, random: Random
) -> None:
    trace = simulate(keys, fates, workers, random.randrange)
    for key in set(keys):
        of_key = [position for position in trace.started if keys[position] == key]
        assert of_key == sorted(of_key)
        assert of_key == [p for p in range(len(keys)) if keys[p] == key][: len(of_key)]
    for position, known in zip(trace.started, trace.known_failure, strict=True):
        assert known is None or position < known
    first_failure = min(trace.failed, default=len(keys))
    assert set(range(first_failure)) <= set(trace.handled)
