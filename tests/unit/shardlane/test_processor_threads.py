"""KeyedBatchProcessor with several workers and plain handlers."""

from __future__ import annotations

import contextvars
import threading
from collections import defaultdict
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response
from hypothesis import given, settings
from hypothesis import strategies as st

from shardlane import Backoff, FailurePolicy, KeyedBatchProcessor, Record
from tests.unit.shardlane.entries import Context, event_of, reported
from tests.unit.shardlane.stepped_clock import SteppedClock

PATIENCE_S = 10.0
"""How long a test waits for what must happen at once; only a failing test waits that long."""


def run(processor: KeyedBatchProcessor, keys: str, handler: Any, context: Any = None) -> int | None:
    return reported(
        process_partial_response(
            event=event_of(keys), record_handler=handler, processor=processor, context=context
        )
    )


def place(record: Record) -> int:
    number: int = record.json()["n"]
    return number


def test_keys_run_at_the_same_time() -> None:
    together = threading.Barrier(3)
    processor = KeyedBatchProcessor(workers=3)
    assert run(processor, "abc", lambda record: together.wait(PATIENCE_S)) is None


def test_no_more_than_the_workers_run_at_the_same_time() -> None:
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def handler(record: Record) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(PATIENCE_S)
        with lock:
            running -= 1

    assert run(KeyedBatchProcessor(workers=2), "abcdef", handler) is None
    assert most == 2


def test_one_key_runs_in_order_and_never_twice_at_once() -> None:
    busy: dict[str, bool] = defaultdict(bool)
    order: dict[str, list[int]] = defaultdict(list)

    def handler(record: Record) -> None:
        key = record.partition_key
        assert not busy[key]
        busy[key] = True
        order[key].append(place(record))
        busy[key] = False

    keys = "abcab" * 100
    assert run(KeyedBatchProcessor(workers=8), keys, handler) is None
    for key in "abc":
        assert order[key] == [number for number, each in enumerate(keys) if each == key]


def test_a_failure_lets_earlier_records_finish_and_no_later_one_start() -> None:
    failed, started = threading.Event(), []

    def handler(record: Record) -> None:
        started.append(place(record))
        if place(record) == 1:
            failed.set()
            raise RuntimeError("boom")
        if place(record) == 0:
            assert failed.wait(PATIENCE_S)

    processor = KeyedBatchProcessor(workers=2)
    assert run(processor, "abab", handler) == 1
    assert sorted(started) == [0, 1]
    assert processor.outcome.handled == 1


def test_a_key_that_backs_off_lets_the_others_go_on() -> None:
    others_done, attempts = threading.Event(), []

    def handler(record: Record) -> None:
        if record.partition_key == "b":
            others_done.set()
            return
        attempts.append(place(record))
        if len(attempts) == 1:
            raise RuntimeError("boom")
        assert others_done.wait(PATIENCE_S)

    policy = FailurePolicy.stop(attempts=2, backoff=Backoff(first_ms=1, most_ms=1))
    assert run(KeyedBatchProcessor(workers=2, on_failure=policy), "aab", handler) is None
    assert attempts == [0, 0, 1]


def test_a_handler_that_overruns_is_reported_and_settles_nothing_later() -> None:
    release, ended = threading.Event(), threading.Event()

    def handler(record: Record) -> None:
        if record.partition_key == "b":
            release.wait(PATIENCE_S)
            ended.set()

    processor = KeyedBatchProcessor(workers=2, margin_ms=100)
    assert run(processor, "ab", handler, Context(left_ms=200)) == 1
    release.set()
    assert ended.wait(PATIENCE_S)
    assert processor.outcome.handled == 1
    assert processor.outcome.first_unsettled is not None


def test_what_runs_past_the_margin_may_end_and_nothing_more_starts() -> None:
    clock = SteppedClock()

    def slow(record: Record) -> None:
        clock.now_s += 5.5  # nothing starts after 5 s; what runs may end until 7.5 s

    processor = KeyedBatchProcessor(workers=2, margin_ms=5_000, clock=clock)
    assert run(processor, "aaa", slow, Context(left_ms=10_000)) == 1
    assert processor.outcome.handled == 1


def test_what_is_no_exception_reaches_the_caller() -> None:
    def leave(record: Record) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(KeyedBatchProcessor(workers=2), "ab", leave)


def test_threads_see_the_callers_context() -> None:
    trace = contextvars.ContextVar("trace", default="none")
    trace.set("root-1")
    seen = []
    assert (
        run(KeyedBatchProcessor(workers=2), "ab", lambda record: seen.append(trace.get())) is None
    )
    assert seen == ["root-1", "root-1"]


def test_no_thread_outlives_a_batch() -> None:
    run(KeyedBatchProcessor(workers=4), "abcd" * 10, lambda record: None)
    for thread in threading.enumerate():
        if thread.name.startswith("shardlane-"):
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=30),
    st.sets(st.integers(0, 29), max_size=4),
    st.integers(2, 5),
)
def test_any_batch_reports_the_lowest_failure_and_keeps_order(
    keys: list[str], failing: set[int], workers: int
) -> None:
    lock = threading.Lock()
    started: list[int] = []
    handled: set[int] = set()

    def handler(record: Record) -> None:
        number = place(record)
        with lock:
            started.append(number)
        if number in failing:
            raise RuntimeError("boom")
        with lock:
            handled.add(number)

    expected = min((each for each in failing if each < len(keys)), default=None)
    assert run(KeyedBatchProcessor(workers=workers), "".join(keys), handler) == expected
    assert set(range(expected if expected is not None else len(keys))) <= handled
    for key in set(keys):
        of_key = [number for number in started if keys[number] == key]
        assert of_key == [n for n in range(len(keys)) if keys[n] == key][: len(of_key)]


def _starts_at_most(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where handlers that hang have taken the process's threads."""
    start, left = threading.Thread.start, iter(range(count))

    def limited(self: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)


def test_with_fewer_threads_than_workers_the_batch_is_handled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _starts_at_most(2, monkeypatch)
    handled: list[int] = []
    processor = KeyedBatchProcessor(workers=4)
    assert run(processor, "abcdefgh", lambda record: handled.append(place(record))) is None
    assert sorted(handled) == list(range(8))


def test_without_any_thread_the_invocation_fails_and_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _starts_at_most(0, monkeypatch)
    handled: list[Record] = []
    with pytest.raises(RuntimeError, match="new thread"):
        run(KeyedBatchProcessor(workers=4), "ab", handled.append)
    assert handled == []


def test_threads_start_nothing_once_the_invocation_has_failed() -> None:
    class BrokenClock(SteppedClock):
        """Its time cannot be told once a handler runs."""

        broken = False

        def monotonic_s(self) -> float:
            if self.broken and threading.current_thread() is caller:
                raise OSError("no clock")
            return super().monotonic_s()

    caller, clock = threading.current_thread(), BrokenClock()
    started, failed = threading.Event(), threading.Event()
    calls: list[int] = []

    def handler(record: Record) -> None:
        calls.append(place(record))
        clock.broken = True
        started.set()
        failed.wait(PATIENCE_S)

    processor = KeyedBatchProcessor(workers=2, clock=clock)
    with pytest.raises(OSError, match="no clock"):
        run(processor, "aaa", handler, Context(1_000))
    assert started.is_set()
    failed.set()
    for thread in threading.enumerate():
        if thread.name.startswith("shardlane-"):
            thread.join(PATIENCE_S)
    assert calls == [0]
