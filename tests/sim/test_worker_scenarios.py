"""Handlers: how many at once, in which order, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from shardlane import Backoff, Drop
from shardlane.consumer.bounds import Bounds
from shardlane.consumer.checkpoint import HORIZON
from shardlane.consumer.errors import ConsumerError
from shardlane.consumer.machine import Machine
from shardlane.consumer.position import Position
from shardlane.consumer.subscription import Subscription
from shardlane.consumer.tuning import Tuning
from shardlane.consumer.worker_plan import ONE_LOOP, WorkerPlan, by_key, workers
from shardlane.errors import SettingsError
from shardlane.policy import FailurePolicy, OnFailure
from shardlane.record import Record
from shardlane_lab.virtual_time import wall_ms
from tests.sim.stage import STREAM, Stage, play

SHARD = "shardId-000000000000"


def busy(stage: Stage, plan: WorkerPlan, keys: Sequence[str]) -> Any:
    """Handles a record of each key for a second; returns the most handlers at once, by key and in
    all."""
    running: list[str] = []
    most = {"all": 0, "of one key": 0}

    async def handle(record: Record) -> None:
        running.append(record.partition_key)
        most["all"] = max(most["all"], len(running))
        most["of one key"] = max(most["of one key"], running.count(record.partition_key))
        await asyncio.sleep(1)
        running.remove(record.partition_key)

    for number, key in enumerate(keys):
        stage.put(str(number), key)
    stage.start(handle, plan)
    return most


@pytest.mark.parametrize(
    ("plan", "at_once", "of_one_key"),
    [(ONE_LOOP, 1, 1), (workers(3), 3, 3), (workers(8, by_key), 2, 1)],
    ids=["one loop", "a pool", "by key"],
)
def test_how_many_handlers_run_at_once(plan: WorkerPlan, at_once: int, of_one_key: int) -> None:
    keys = ["alice", "alice", "alice", "bob", "bob", "bob"]

    async def scene(stage: Stage) -> Any:
        most = busy(stage, plan, keys)
        await stage.until(len(keys))
        await asyncio.sleep(2)
        return most

    assert play(scene) == {"all": at_once, "of one key": of_one_key}


def test_one_loop_keeps_the_order_of_arrival() -> None:
    async def scene(stage: Stage) -> list[str]:
        for number in range(50):
            stage.put(str(number), f"key-{number % 7}")
        stage.start()
        await stage.until(50)
        return stage.data

    assert play(scene) == [str(number) for number in range(50)]


def test_a_lane_keeps_the_order_of_its_keys() -> None:
    async def scene(stage: Stage) -> list[tuple[str, int]]:
        random = Random(1)

        async def handle(record: Record) -> None:
            await asyncio.sleep(random.random())

        for number in range(60):
            stage.put(str(number), f"key-{number % 5}")
        stage.start(handle, workers(2, by_key))
        await stage.until(60)
        return [(each.key, int(each.data)) for each in stage.seen]

    seen = play(scene)
    for key in {key for key, _ in seen}:
        mine = [number for each, number in seen if each == key]
        assert mine == sorted(mine)


def test_another_key_function_keeps_the_order_of_what_it_says() -> None:
    async def scene(stage: Stage) -> list[str]:
        for number in range(20):
            stage.put(str(number), f"key-{number}")

        async def handle(record: Record) -> None:
            await asyncio.sleep(1.0 - int(record.text()) / 20)

        stage.start(handle, workers(4, lambda record: "always the same"))
        await stage.until(20)
        return stage.data

    assert play(scene) == [str(number) for number in range(20)]


# --- failures -----------------------------------------------------------------------------------


class Failing:
    """Fails the first attempts of a record."""

    def __init__(self, data: str, attempts: int) -> None:
        self._data = data
        self._left = attempts

    async def __call__(self, record: Record) -> None:
        if record.text() == self._data and self._left:
            self._left -= 1
            raise RuntimeError("not yet")


def seen_with(on_failure: OnFailure, attempts: int, keys: str = "abab") -> tuple[list[str], Any]:
    """Records 0, 1, … of these keys, of which the first one fails."""

    async def scene(stage: Stage) -> tuple[list[str], Any]:
        for number, key in enumerate(keys):
            stage.put(str(number), key)
        subscription = stage.start(Failing("0", attempts), on_failure=on_failure)
        await asyncio.sleep(60)
        return stage.data, subscription.stats()

    return play(scene)


QUICK = Backoff(first_ms=100, most_ms=1000)


def test_a_failed_record_comes_again_before_anything_later_of_its_key() -> None:
    seen, stats = seen_with(FailurePolicy.stop(3, QUICK), attempts=2)
    mine = [data for data in seen if data in "02"]
    assert mine == ["0", "0", "0", "2"]
    assert (stats.counters.retries, stats.counters.failures) == (2, 2)


def test_other_keys_go_on_meanwhile() -> None:
    seen, _ = seen_with(FailurePolicy.stop(3, Backoff(1000, 1, 1000)), attempts=2)
    assert seen.index("3") < seen.index("2")


def test_stop_holds_up_the_key_until_the_record_is_handled() -> None:
    seen, stats = seen_with(FailurePolicy.stop(1, QUICK), attempts=20)
    assert seen.count("0") == 21
    assert seen[-1] == "2"
    assert stats.held == ()


def test_what_stop_holds_up_is_told() -> None:
    seen, stats = seen_with(FailurePolicy.stop(2, QUICK), attempts=10_000)
    assert "2" not in seen
    (held,) = stats.held
    assert held.shard_id == SHARD
    assert held.failures > 50
    assert held.reason == "RuntimeError: not yet"
    assert stats.keys_aside == 1
    assert stats.lag_ms == pytest.approx(60_000, abs=500)


def test_drop_forgets_the_record_and_its_key_goes_on() -> None:
    seen, stats = seen_with(FailurePolicy.drop(2, QUICK), attempts=10)
    assert [data for data in seen if data in "02"] == ["0", "0", "2"]
    assert stats.counters.dropped == 1
    assert stats.shards[0].unsettled == 0


def test_a_policy_by_exception_class() -> None:
    policies = {ValueError: FailurePolicy.stop(), Exception: FailurePolicy.drop()}
    seen, stats = seen_with(policies, attempts=1)
    assert seen.count("0") == 1
    assert stats.counters.dropped == 1


def test_a_handler_may_drop_its_record() -> None:
    async def drop(record: Record) -> None:
        if record.text() == "0":
            raise Drop("not wanted")

    async def scene(stage: Stage) -> Any:
        for number in range(3):
            stage.put(str(number))
        subscription = stage.start(drop)
        await stage.until(3)
        await asyncio.sleep(1)
        return subscription.stats().counters

    counters = play(scene)
    assert (counters.dropped, counters.handled, counters.failures) == (1, 2, 1)


def test_a_stuck_key_holds_its_shard_at_the_bound_and_no_other_shard() -> None:
    async def stuck(record: Record) -> None:
        if record.text() == "stuck":
            raise RuntimeError("always")

    async def scene(stage: Stage) -> tuple[int, int]:
        stage.put("stuck", "bad", hash_key=0)
        for number in range(100):
            stage.put(f"a{number}", f"key-{number}", hash_key=0)
            stage.put(f"b{number}", f"key-{number}", hash_key=2**128 - 1)
        stage.start(stuck, bounds=Bounds(unsettled_records=20), on_failure=FailurePolicy.stop())
        await asyncio.sleep(120)
        return (
            sum(data.startswith("a") for data in stage.data),
            sum(data.startswith("b") for data in stage.data),
        )

    assert play(scene, shards=2) == (19, 100)


def test_a_blocked_shard_does_not_keep_another_from_its_end() -> None:
    async def blocked(record: Record) -> None:
        if record.partition_key == "blocked":
            await asyncio.Event().wait()

    def lane(record: Record) -> str:
        return "alice" if record.partition_key == "blocked" else "bob"  # never in one lane of two

    async def scene(stage: Stage) -> int:
        for _ in range(200):
            stage.put("blocked", "blocked", hash_key=0)
        await asyncio.sleep(1)
        stage.start(blocked, workers(2, lane))
        await asyncio.sleep(5)
        for number in range(200):
            stage.put(str(number), f"key-{number}", hash_key=2**128 - 1)
        await asyncio.sleep(20)
        return len(stage.seen) - 1

    assert play(scene, shards=2) == 200


def test_a_handler_that_cancels_itself_has_failed() -> None:
    async def cancelled(record: Record) -> None:
        if record.text() == "0":
            raise asyncio.CancelledError

    async def scene(stage: Stage) -> Any:
        stage.put("0")
        stage.put("1")
        subscription = stage.start(cancelled, on_failure=FailurePolicy.drop())
        await stage.until(2)
        await asyncio.sleep(1)
        return subscription.stats().counters

    counters = play(scene)
    assert (counters.dropped, counters.handled) == (1, 1)


# --- batches ------------------------------------------------------------------------------------


def batches(
    handler: Any, feed: Any, *, size: int = 10, wait_ms: float = 50, on_failure: Any = None
) -> list[list[str]]:
    """The batches that a batch handler got."""
    got: list[list[str]] = []

    async def scene(stage: Stage) -> list[list[str]]:
        subscription = Subscription(
            STREAM,
            start=Position.horizon(),
            kinesis=stage.port,
            on_failure=on_failure,
            tuning=Tuning(machine=Machine(wall_ms=wall_ms, random=Random(1), has_threads=False)),
        )

        async def handle(records: Sequence[Record]) -> None:
            got.append([record.text() for record in records])
            if handler is not None:
                await handler(records)

        run = asyncio.create_task(subscription.run_batches(handle, size=size, wait_ms=wait_ms))
        await feed(stage)
        subscription.stop()
        await run
        return got

    return play(scene)


def test_a_batch_has_up_to_its_size_whatever_the_channel_holds() -> None:
    async def feed(stage: Stage) -> None:
        for number in range(250):
            stage.put(str(number))
        await asyncio.sleep(10)

    got = batches(None, feed, size=100)
    assert [len(each) for each in got] == [100, 100, 50]
    assert [data for each in got for data in each] == [str(number) for number in range(250)]


def test_a_batch_waits_for_more_no_longer_than_asked() -> None:
    async def feed(stage: Stage) -> None:
        await asyncio.sleep(3)
        for number in range(4):
            stage.put(str(number))
            await asyncio.sleep(1)
        await asyncio.sleep(3)

    assert batches(None, feed, wait_ms=50) == [["0"], ["1"], ["2"], ["3"]]
    assert batches(None, feed, wait_ms=1_500) == [["0", "1"], ["2", "3"]]


def test_a_failing_batch_is_halved_until_the_record_is_alone() -> None:
    async def poison(records: Sequence[Record]) -> None:
        if any(record.text() == "5" for record in records):
            raise RuntimeError("poison")

    async def feed(stage: Stage) -> None:
        for number in range(8):
            stage.put(str(number), f"key-{number}")
        await asyncio.sleep(10)

    got = batches(poison, feed, on_failure=FailurePolicy.drop())
    assert got == [
        [str(number) for number in range(8)],
        ["0", "1", "2", "3"],
        ["4", "5", "6", "7"],
        ["4", "5"],
        ["4"],
        ["5"],
        ["6", "7"],
    ]


def test_in_a_failing_batch_a_key_does_not_overtake_its_failed_record() -> None:
    failures = 3
    handled: list[str] = []

    async def failing(records: Sequence[Record]) -> None:
        nonlocal failures
        if any(record.text() == "0" for record in records) and failures:
            failures -= 1
            raise RuntimeError("not yet")
        handled.extend(record.text() for record in records)

    async def feed(stage: Stage) -> None:
        for number, key in enumerate("abab"):
            stage.put(str(number), key)
        await asyncio.sleep(30)

    batches(failing, feed, on_failure=FailurePolicy.stop(5, QUICK))
    assert handled == ["1", "3", "0", "2"]


# --- what is refused before anything is sent -----------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, 5000, True, 1.5])
def test_a_number_of_workers_that_makes_no_sense(count: Any) -> None:
    with pytest.raises(SettingsError, match="workers"):
        workers(count)


@pytest.mark.parametrize(("size", "wait_ms"), [(0, 50), (10_001, 50), (10, -1)])
def test_a_batch_that_makes_no_sense(size: int, wait_ms: float) -> None:
    async def handle(records: Sequence[Record]) -> None:
        """Never called."""

    with pytest.raises(SettingsError, match="allowed"):
        asyncio.run(Subscription("s").run_batches(handle, size=size, wait_ms=wait_ms))


def test_stats_and_seek_need_a_run() -> None:
    with pytest.raises(ConsumerError, match="does not run"):
        Subscription("s").stats()
    with pytest.raises(ConsumerError, match="call run first"):
        asyncio.run(Subscription("s").seek(Position.horizon()))


def test_one_run_at_a_time() -> None:
    async def scene(stage: Stage) -> None:
        subscription = stage.start()
        await asyncio.sleep(1)
        await subscription.run(lambda record: None)

    with pytest.raises(ConsumerError, match="runs already"):
        play(scene)


def test_a_stream_needs_a_name() -> None:
    with pytest.raises(SettingsError, match="name or the ARN"):
        Subscription("")


def test_plain_handlers_run_too() -> None:
    seen: list[str] = []

    async def scene(stage: Stage) -> list[str]:
        stage.put("1")
        subscription = Subscription(
            STREAM,
            start=Position.horizon(),
            kinesis=stage.port,
            tuning=Tuning(machine=Machine(wall_ms=wall_ms, random=Random(1), has_threads=False)),
        )
        run = asyncio.create_task(subscription.run(lambda record: seen.append(record.text())))
        await asyncio.sleep(3)
        subscription.stop()
        await run
        return seen

    assert play(scene) == ["1"]


def test_a_plain_batch_handler_that_returns_a_coroutine_has_handled_nothing() -> None:
    async def scene(stage: Stage) -> Any:
        stage.put("0")
        stage.put("1", "other")

        async def never_awaited(records: Sequence[Record]) -> None:
            raise AssertionError("nobody awaits it")

        def handle(records: Sequence[Record]) -> Any:
            return never_awaited(records)

        subscription = stage.start_batches(handle, on_failure=FailurePolicy.stop())
        await asyncio.sleep(5)
        counters = subscription.stats().counters
        await stage.kill(subscription)
        return counters

    counters = play(scene)
    assert (counters.handled, counters.checkpoints) == (0, 0)
    assert counters.failures > 0


def test_a_batch_handler_that_was_cancelled_by_its_own_doing_does_not_end_the_run() -> None:
    async def handle(records: Sequence[Record]) -> None:
        if any(record.text() == "1" for record in records):
            raise asyncio.CancelledError

    async def scene(stage: Stage) -> Any:
        for number in range(4):
            stage.put(str(number), f"key-{number}")
        subscription = stage.start_batches(handle, on_failure=FailurePolicy.drop())
        await asyncio.sleep(10)
        return subscription.stats().counters

    counters = play(scene)
    assert (counters.handled, counters.dropped) == (3, 1)


def test_a_subscription_that_is_stopped_before_its_run_begins_ends_at_once() -> None:
    """A task for ``run`` begins later than it is made, and a signal may come in between."""

    async def scene(stage: Stage) -> tuple[int, int]:
        stage.put("0")
        subscription = stage.start()
        subscription.stop()
        async with asyncio.timeout(1):
            await stage.ended(subscription)
        before = len(stage.seen)
        seen: list[Record] = []
        again = asyncio.create_task(subscription.run(seen.append))
        await asyncio.sleep(5)
        assert not again.done()
        subscription.stop()
        await again
        return before, len(seen)

    assert play(scene) == (0, 1)


def test_a_second_run_that_is_refused_takes_the_first_ones_handler_for_no_redrive() -> None:
    async def other(given: Any) -> None:
        raise AssertionError("it never runs")

    async def scene(stage: Stage) -> None:
        subscription = stage.start()
        await asyncio.sleep(1)
        mine = subscription._handle_one
        with pytest.raises(ConsumerError, match="runs already"):
            await subscription.run(other)
        with pytest.raises(ConsumerError, match="runs already"):
            await subscription.run_batches(other)
        assert subscription._handle_one is mine

    play(scene)


def test_a_seek_that_meets_a_lease_just_lost_moves_nothing_and_returns() -> None:
    """The shard is still among those held until the loop comes round to it."""

    async def scene(stage: Stage) -> bool:
        subscription = stage.start()
        await asyncio.sleep(1)
        assert subscription._session is not None
        (held,) = subscription._session.held_shards
        stage.table.rows[SHARD] = replace(stage.rows[SHARD], owner="shardlane/thief", counter=99)
        while held in subscription._session.held_shards:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.1)
        async with asyncio.timeout(60):
            return await held.seek(HORIZON, None)

    assert play(scene) is False
