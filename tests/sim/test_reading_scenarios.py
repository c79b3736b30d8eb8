"""Reading: what goes wrong between a shard and a channel, and what must not get lost there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from shardlane.consumer.bounds import Bounds
from shardlane.consumer.checkpoint import Checkpoint
from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane.consumer.kinesis_port import EventSource
from shardlane.consumer.lease import Lease
from shardlane.consumer.memory_lease_store import MemoryLeaseStore
from shardlane.consumer.position import Position
from shardlane.consumer.source import Source
from shardlane.record import Record
from tests.sim.stage import Stage, play

SOURCES = [Source.polling(0.2), Source.fan_out("app")]
EACH_SOURCE = pytest.mark.parametrize("source", SOURCES, ids=["polling", "fan-out"])
SHARD = "shardId-000000000000"


def refused(code: str, operation: str) -> KinesisRefused:
    return KinesisRefused(code, "as in the test", operation)


@EACH_SOURCE
def test_every_record_is_delivered_once_and_in_order(source: Source) -> None:
    async def scene(stage: Stage) -> list[str]:
        stage.start(source=source)
        for number in range(30):
            stage.put(str(number))
            await asyncio.sleep(0.1)
        await stage.until(30)
        await asyncio.sleep(5)
        return stage.data

    assert play(scene) == [str(number) for number in range(30)]


@EACH_SOURCE
def test_back_pressure_of_minutes_drops_nothing_and_keeps_the_lease(source: Source) -> None:
    """Longer than an iterator or a subscription lives."""
    waited = False

    async def slow(record: Record) -> None:
        nonlocal waited
        if not waited:
            waited = True
            await asyncio.sleep(331)

    async def scene(stage: Stage) -> tuple[list[str], int]:
        subscription = stage.start(
            slow, source=source, bounds=Bounds(channel_records=1, read_ahead_records=1)
        )
        for number in range(20):
            stage.put(str(number))
            await asyncio.sleep(1)
        await stage.until(20, within_s=600)
        return stage.data, subscription.stats().counters.leases_lost

    data, lost = play(scene)
    assert data == [str(number) for number in range(20)]
    assert lost == 0


def test_an_expired_iterator_reopens_after_the_last_delivered_record() -> None:
    """Neither at the checkpoint, which would repeat, nor at the tip, which would lose."""
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        await hold.wait()

    async def scene(stage: Stage) -> list[str]:
        expired = False

        def expire(operation: str, request: Mapping[str, Any]) -> None:
            if operation == "GetRecords" and expired:
                raise refused("ExpiredIteratorException", operation)
            if operation == "GetShardIterator" and expired:
                opened.append(request["ShardIteratorType"])
                stage.port.meddle = lambda *_: None

        opened: list[str] = []
        stage.start(held)
        stage.put("1")
        await stage.until(1)
        stage.port.meddle = expire
        expired = True
        stage.put("2")
        await asyncio.sleep(1)
        hold.set()
        await stage.until(2)
        await asyncio.sleep(2)
        assert opened == ["AFTER_SEQUENCE_NUMBER"]
        return stage.data

    assert play(scene) == ["1", "2"]


def test_polling_at_the_tip_keeps_its_interval() -> None:
    async def scene(stage: Stage) -> int:
        stage.start(source=Source.polling(0.5))
        await asyncio.sleep(5)
        before = stage.port.calls["GetRecords"]
        await asyncio.sleep(10)
        return stage.port.calls["GetRecords"] - before

    assert 18 <= play(scene) <= 20


def test_a_reader_that_is_behind_goes_on_at_once_but_within_its_share() -> None:
    async def scene(stage: Stage) -> list[float]:
        for number in range(40):
            stage.put(str(number))
        await asyncio.sleep(1)
        stage.port.most_records = 5
        stage.start(source=Source.polling(3.0))
        await stage.until(40)
        return [at_s for operation, at_s in stage.port.times if operation == "GetRecords"]

    times = play(scene)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(gaps) == 7
    assert gaps == pytest.approx([0.2] * 7)


def test_throttled_readers_of_one_shard_all_make_progress() -> None:
    """Three applications at full speed on a shard that grants five reads a second."""

    async def scene(stage: Stage) -> dict[str, list[str]]:
        for _ in range(3):
            stage.start(store=MemoryLeaseStore(), source=Source.polling(0.2))
        for number in range(20):
            stage.put(str(number))
            await asyncio.sleep(0.5)
        await stage.until(60)
        return {
            by: [each.data for each in stage.seen if each.by == by] for by in ("i1", "i2", "i3")
        }

    expected = [str(number) for number in range(20)]
    assert play(scene) == {"i1": expected, "i2": expected, "i3": expected}


@pytest.mark.parametrize(
    "error",
    [
        refused("ProvisionedThroughputExceededException", "GetRecords"),
        refused("InternalFailureException", "GetRecords"),
        KinesisUnreachable("no answer"),
    ],
    ids=["throttled", "internal failure", "unreachable"],
)
def test_a_failing_read_backs_off_and_keeps_its_iterator(error: Exception) -> None:
    async def scene(stage: Stage) -> tuple[int, int, list[str]]:
        def fail(operation: str, request: Mapping[str, Any]) -> None:
            if operation == "GetRecords":
                raise error

        stage.start()
        await asyncio.sleep(3)
        opened = stage.port.calls["GetShardIterator"]
        reads = stage.port.calls["GetRecords"]
        stage.port.meddle = fail
        stage.put("1")
        await asyncio.sleep(60)
        reads = stage.port.calls["GetRecords"] - reads
        stage.port.meddle = lambda *_: None
        await stage.until(1)
        return reads, stage.port.calls["GetShardIterator"] - opened, stage.data

    reads, reopened, data = play(scene)
    assert reads < 60  # full jitter up to five seconds; without backoff it would be 300
    assert reopened == 0
    assert data == ["1"]


def test_lag_grows_while_no_read_succeeds() -> None:
    async def scene(stage: Stage) -> tuple[float, float]:
        def fail(operation: str, request: Mapping[str, Any]) -> None:
            if operation == "GetRecords":
                raise KinesisUnreachable("no answer")

        subscription = stage.start()
        await asyncio.sleep(5)
        stage.port.meddle = fail
        await asyncio.sleep(30)
        earlier = subscription.stats().lag_ms
        await asyncio.sleep(30)
        return earlier, subscription.stats().lag_ms

    earlier, later = play(scene)
    assert earlier == pytest.approx(30_000, abs=500)
    assert later == pytest.approx(60_000, abs=500)


def test_the_oldest_unsettled_record_says_which_key_is_late() -> None:
    hold = asyncio.Event()

    async def held(record: Record) -> None:
        await hold.wait()

    async def scene(stage: Stage) -> Any:
        subscription = stage.start(held)
        stage.put("1", "alice")
        await asyncio.sleep(10)
        latest = subscription.stats().latest
        hold.set()
        return latest

    latest = play(scene)
    assert (latest.oldest_key, latest.shard_id) == ("alice", SHARD)
    assert latest.lag_ms == pytest.approx(10_000, abs=5)


@EACH_SOURCE
def test_a_checkpoint_older_than_what_is_left_falls_to_the_horizon(source: Source) -> None:
    async def scene(stage: Stage) -> tuple[list[str], int]:
        stage.put("1")
        stage.put("2")
        table = await stage.store.open(await identity(stage))
        await table.create(Lease(shard_id=SHARD, checkpoint=Checkpoint("1")))
        subscription = stage.start(source=source, start=Position.latest())
        await stage.until(2)
        return stage.data, subscription.stats().counters.gaps

    assert play(scene) == (["1", "2"], 1)


async def identity(stage: Stage) -> Any:
    from random import Random

    from shardlane.consumer.stream import PatientCaller, identified

    return await identified(PatientCaller(stage.port, Random(1)), "orders")


def test_two_streams_in_one_store_do_not_mix() -> None:
    """Shard ids repeat across streams."""
    from random import Random

    from shardlane.consumer.stream import PatientCaller, identified

    async def scene(stage: Stage) -> list[int]:
        stage.model.call("CreateStream", {"StreamName": "other", "ShardCount": 1}, 1.0)
        caller = PatientCaller(stage.port, Random(1))
        orders = await stage.store.open(await identified(caller, "orders"))
        other = await stage.store.open(await identified(caller, "other"))
        await orders.create(Lease(shard_id=SHARD, checkpoint=Checkpoint("12")))
        return [len(await table.scan()) for table in (orders, other)]  # type: ignore[arg-type]

    assert play(scene) == [1, 0]


# --- enhanced fan-out ---------------------------------------------------------------------------


class Broken:
    """A subscription that a test breaks after its first events."""

    def __init__(self, inner: EventSource, after: int, how: str) -> None:
        self._inner = inner
        self._left = after
        self._how = how

    async def next_event(self) -> Mapping[str, Any] | None:
        if self._left == 0:
            if self._how == "silence":
                await asyncio.Event().wait()
            if self._how == "truncate":
                await self._inner.next_event()  # half a frame, then a clean end: it is lost
            if self._how == "break":
                raise KinesisUnreachable("the connection was cut")
            return None
        self._left -= 1
        return await self._inner.next_event()

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("how", ["end", "truncate", "break", "silence"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_however_a_subscription_ends_the_next_one_goes_on_where_it_was(
    how: str, after: int
) -> None:
    async def scene(stage: Stage) -> list[str]:
        first = True

        def once(source: EventSource) -> EventSource:
            nonlocal first
            if not first:
                return source
            first = False
            return Broken(source, after, how)

        stage.port.events = once
        stage.start(source=Source.fan_out("app"))
        await asyncio.sleep(3)
        for number in range(8):
            stage.put(str(number))
            await asyncio.sleep(0.5)
        await stage.until(8, within_s=90)
        await asyncio.sleep(2)
        return stage.data

    assert play(scene) == [str(number) for number in range(8)]


def test_a_silent_subscription_is_given_up_after_35_seconds() -> None:
    async def scene(stage: Stage) -> list[float]:
        stage.port.events = lambda source: Broken(source, 0, "silence")
        stage.start(source=Source.fan_out("app"))
        await asyncio.sleep(45)
        return [at_s for operation, at_s in stage.port.times if operation == "SubscribeToShard"]

    first, second = play(scene)
    assert 35 <= second - first < 37


def test_waiting_for_the_handler_is_not_silence() -> None:
    waited = False

    async def slow(record: Record) -> None:
        nonlocal waited
        if not waited:
            waited = True
            await asyncio.sleep(100)

    async def scene(stage: Stage) -> int:
        stage.start(
            slow,
            source=Source.fan_out("app"),
            bounds=Bounds(channel_records=1, read_ahead_records=1),
        )
        await asyncio.sleep(3)
        for number in range(5):
            stage.put(str(number))
            await asyncio.sleep(0.5)
        await stage.until(5, within_s=200)
        return stage.port.calls["SubscribeToShard"]

    assert play(scene) == 1


def test_subscriptions_of_one_shard_are_five_seconds_apart() -> None:
    async def scene(stage: Stage) -> list[float]:
        stage.port.events = lambda source: Broken(source, 0, "break")
        stage.start(source=Source.fan_out("app"))
        await asyncio.sleep(120)
        return [at_s for operation, at_s in stage.port.times if operation == "SubscribeToShard"]

    times = play(scene)
    assert len(times) > 8
    assert min(b - a for a, b in itertools.pairwise(times)) >= 5


def test_in_use_is_tried_again_every_second_and_passes() -> None:
    """Another subscription of the same consumer is too fresh."""

    async def scene(stage: Stage) -> tuple[list[float], list[str]]:
        refusals = 3

        def in_use(operation: str, request: Mapping[str, Any]) -> None:
            nonlocal refusals
            if operation == "SubscribeToShard" and refusals:
                refusals -= 1
                raise refused("ResourceInUseException", operation)

        stage.port.meddle = in_use
        stage.put("1")
        stage.start(source=Source.fan_out("app"))
        await stage.until(1)
        times = [at_s for operation, at_s in stage.port.times if operation == "SubscribeToShard"]
        return times, stage.data

    times, data = play(scene)
    assert data == ["1"]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert gaps == pytest.approx([1.0, 1.0, 1.0], abs=0.01)


def test_a_consumer_is_registered_waited_for_and_left_in_place() -> None:
    async def scene(stage: Stage) -> tuple[str, int]:
        creating = 3

        def not_yet(operation: str, request: Mapping[str, Any]) -> None:
            nonlocal creating
            if operation == "DescribeStreamConsumer" and 0 < creating < 3:
                creating -= 1
                raise refused("LimitExceededException", operation)
            if operation == "RegisterStreamConsumer":
                creating -= 1

        stage.port.meddle = not_yet
        stage.put("1")
        subscription = stage.start(source=Source.fan_out("app"))
        await stage.until(1)
        await stage.stop(subscription)
        arn = stage.call("DescribeStreamSummary")["StreamDescriptionSummary"]["StreamARN"]
        answer = stage.model.call("ListStreamConsumers", {"StreamARN": arn}, 1.8e12)
        consumers = answer["Consumers"]
        return consumers[0]["ConsumerName"], stage.port.calls["RegisterStreamConsumer"]

    assert play(scene) == ("app", 1)
