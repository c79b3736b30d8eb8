"""KeyedBatchProcessor with async handlers."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import (
    async_process_partial_response,
    process_partial_response,
)

from shardlane import Backoff, FailurePolicy, KeyedBatchProcessor, Record, ShardlaneError
from tests.unit.shardlane.entries import Context, event_of, reported


def run(processor: KeyedBatchProcessor, keys: str, handler: Any, context: Any = None) -> int | None:
    return reported(
        process_partial_response(
            event=event_of(keys), record_handler=handler, processor=processor, context=context
        )
    )


class Calls:
    """An async handler that notes what runs, and fails on chosen places once."""

    def __init__(self, *failing: int) -> None:
        self.failing = set(failing)
        self.started: list[int] = []
        self.running: set[str] = set()
        self.most = 0

    async def __call__(self, record: Record) -> None:
        number = record.json()["n"]
        assert record.partition_key not in self.running
        self.started.append(number)
        self.running.add(record.partition_key)
        self.most = max(self.most, len(self.running))
        try:
            await asyncio.sleep(0)
            if number in self.failing:
                self.failing.remove(number)
                raise RuntimeError("boom")
        finally:
            self.running.remove(record.partition_key)


def test_one_worker_runs_one_record_after_the_other() -> None:
    calls = Calls()
    assert run(KeyedBatchProcessor(), "abcabc", calls) is None
    assert calls.started == [0, 1, 2, 3, 4, 5]
    assert calls.most == 1


def test_workers_run_keys_at_the_same_time_and_a_key_in_order() -> None:
    calls = Calls()
    keys = "abcab" * 10
    assert run(KeyedBatchProcessor(workers=3), keys, calls) is None
    assert calls.most == 3
    by_key = defaultdict(list)
    for number in calls.started:
        by_key[keys[number]].append(number)
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_a_failure_is_reported_and_nothing_starts_beyond_it() -> None:
    calls = Calls(0)
    assert run(KeyedBatchProcessor(workers=2), "abcd", calls) == 0
    assert calls.started == [0, 1]


def test_attempts_and_backoff() -> None:
    calls = Calls(0)
    policy = FailurePolicy.stop(attempts=2, backoff=Backoff(first_ms=1, most_ms=1))
    assert run(KeyedBatchProcessor(workers=2, on_failure=policy), "aab", calls) is None
    assert calls.started == [0, 2, 0, 1]


def test_a_handler_that_overruns_is_cancelled_and_reported() -> None:
    cancelled = []

    async def handler(record: Record) -> None:
        try:
            await asyncio.sleep(60 if record.partition_key == "b" else 0)
        except asyncio.CancelledError:
            cancelled.append(record.partition_key)
            raise

    processor = KeyedBatchProcessor(workers=2, margin_ms=100)
    assert run(processor, "ab", handler, Context(left_ms=200)) == 1
    assert cancelled == ["b"]


def test_a_handler_that_refuses_to_be_cancelled_settles_nothing() -> None:
    async def handler(record: Record) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return

    processor = KeyedBatchProcessor(margin_ms=100)
    assert run(processor, "ab", handler, Context(left_ms=200)) == 0


def test_what_is_no_exception_reaches_the_caller() -> None:
    async def leave(record: Record) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(KeyedBatchProcessor(), "a", leave)


def test_invocations_share_one_loop_that_ends_with_the_processor() -> None:
    loops = []

    async def handler(record: Record) -> None:
        loops.append(asyncio.get_running_loop())

    processor = KeyedBatchProcessor()
    run(processor, "a", handler)
    run(processor, "a", handler)
    assert loops[0] is loops[1]
    assert not loops[0].is_closed()
    del processor
    gc.collect()
    assert loops[0].is_closed()


def test_the_handler_gets_lambdas_context_if_it_asks_for_it() -> None:
    seen = []

    async def handler(record: Record, lambda_context: Context) -> None:
        seen.append(lambda_context)

    context = Context()
    assert run(KeyedBatchProcessor(), "a", handler, context) is None
    assert seen == [context]


def test_a_partial_of_an_async_function_is_one() -> None:
    seen = []

    async def handler(record: Record, *, to: str) -> None:
        seen.append(to)

    assert run(KeyedBatchProcessor(), "a", partial(handler, to="sink")) is None
    assert seen == ["sink"]


def test_powertools_async_function_works_too() -> None:
    calls = Calls(1)
    processor: Any = KeyedBatchProcessor()
    response = async_process_partial_response(
        event=event_of("ab"), record_handler=calls, processor=processor
    )
    assert reported(response) == 1


@pytest.mark.parametrize("workers", [1, 3])
def test_a_handler_that_was_cancelled_by_its_own_doing_has_failed(workers: int) -> None:
    """Nobody cancelled its task, so it must not end the worker: the others would wait for ever."""

    async def handler(record: Record) -> None:
        if record.partition_key == "b":
            task = asyncio.create_task(asyncio.sleep(60))
            task.cancel()
            await task

    assert run(KeyedBatchProcessor(workers=workers), "abc", handler) == 1
    drops = KeyedBatchProcessor(workers=workers, on_failure=FailurePolicy.drop())
    assert run(drops, "abc", handler) is None
    assert (drops.outcome.handled, drops.outcome.dropped) == (2, 1)


def test_a_coroutine_that_an_async_handler_forgot_to_await_is_a_failure() -> None:
    calls = Calls()

    async def handler(record: Record) -> Any:
        return calls(record)

    assert run(KeyedBatchProcessor(), "ab", handler) == 0
    assert calls.started == []


def test_each_thread_has_a_loop_of_its_own() -> None:
    """Lambda calls from one thread, but tests of a function need not."""
    processor = KeyedBatchProcessor()
    together = threading.Barrier(2, timeout=30)

    async def handler(record: Record) -> None:
        together.wait()  # both are in their handlers now

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, processor, "a", handler) for _ in range(2)]
        assert [each.result() for each in runs] == [None, None]


def test_a_thread_that_runs_a_loop_already_is_told_what_to_do() -> None:
    calls = Calls()

    async def main() -> int | None:
        with pytest.raises(ShardlaneError, match="on another thread"):
            run(KeyedBatchProcessor(), "a", calls)
        return await asyncio.to_thread(run, KeyedBatchProcessor(), "a", calls)

    assert asyncio.run(main()) is None
    assert calls.started == [0]
