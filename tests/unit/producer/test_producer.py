from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, TypeVar

import pytest

from shardlane.consumer.errors import KinesisRefused, KinesisUnreachable
from shardlane.errors import BadRecord, SettingsError
from shardlane.producer import Outgoing, Producer
from shardlane.producer.producer import BEHIND_UNSENT, NO_ANSWER
from shardlane_lab.virtual_time import run_virtual
from tests.sim.stage import STREAM, Stage, play

T = TypeVar("T")
Entries = list[dict[str, Any]]
THROTTLED = "ProvisionedThroughputExceededException"


class Stream:
    """Notes every request, and fails what ``fails`` says: None, a code, or an exception."""

    def __init__(self, fails: Callable[[dict[str, Any]], str | None] = lambda entry: None) -> None:
        self.fails = fails
        self.requests: list[Entries] = []
        self.stored: list[tuple[str, bytes]] = []
        self.under_way = self.most_under_way = 0
        self.error: Exception | None = None

    async def call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        assert operation == "PutRecords"
        self.requests.append(request["Records"])
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0.01)
        self.under_way -= 1
        if self.error is not None:
            raise self.error
        return {"Records": [self._put(entry) for entry in request["Records"]]}

    def _put(self, entry: dict[str, Any]) -> dict[str, str]:
        code = self.fails(entry)
        if code is not None:
            return {"ErrorCode": code, "ErrorMessage": "slow down"}
        self.stored.append((entry["PartitionKey"], entry["Data"]))
        return {"ShardId": "s", "SequenceNumber": str(len(self.stored))}

    async def subscribe(self, request: Mapping[str, Any]) -> Any:
        raise AssertionError("a producer does not subscribe")

    def service_ms(self) -> float:
        raise AssertionError("a producer does not ask for the time")

    async def close(self) -> None:
        raise AssertionError("whoever made the port closes it")


def sent(stream: Stream, records: list[Outgoing], **options: Any) -> Any:
    async def main() -> Any:
        producer = Producer("orders", kinesis=stream, random=Random(1), **options)
        report = await producer.send(records)
        await producer.close()
        return report

    return run_virtual(main())


def of_keys(*keys: str) -> list[Outgoing]:
    return [Outgoing(str(number).encode(), key) for number, key in enumerate(keys)]


def test_requests_are_full_and_within_the_limits() -> None:
    stream = Stream()
    report = sent(stream, of_keys(*(f"key-{number}" for number in range(1_201))))
    assert [len(each) for each in stream.requests] == [500, 500, 201]
    assert report.is_complete
    assert sorted(report.acknowledged) == list(range(1_201))


def test_ten_mebibytes_are_a_full_request() -> None:
    stream = Stream()
    mib = b"x" * (1024 * 1024 - 10)
    sent(stream, [Outgoing(mib, f"{number}") for number in range(25)])
    assert [len(each) for each in stream.requests] == [10, 10, 5]


def test_an_entry_that_failed_is_sent_again_alone() -> None:
    failures = Counter({b"1": 2})

    def fails(entry: dict[str, Any]) -> str | None:
        failures[entry["Data"]] -= 1
        return THROTTLED if failures[entry["Data"]] >= 0 else None

    stream = Stream(fails)
    report = sent(stream, of_keys("a", "b", "c"))
    assert [[each["Data"] for each in request] for request in stream.requests] == [
        [b"0", b"1", b"2"],
        [b"1"],
        [b"1"],
    ]
    assert report.is_complete
    assert report.retries == 2


@pytest.mark.parametrize("seed", range(5))
def test_retries_keep_the_order_of_each_key(seed: int) -> None:
    random = Random(seed)
    stream = Stream(lambda entry: THROTTLED if random.random() < 0.3 else None)
    records = of_keys(*(f"key-{random.randrange(20)}" for _ in range(400)))
    report = sent(stream, records, attempts=100)
    assert report.is_complete
    stored, wanted = defaultdict(list), defaultdict(list)
    for key, data in stream.stored:
        stored[key].append(data)
    for each in records:
        wanted[str(each.key)].append(each.data)
    assert stored == wanted


def test_without_an_order_a_key_goes_in_one_request() -> None:
    stream = Stream()
    sent(stream, of_keys(*["a"] * 100), ordered=False)
    assert [len(each) for each in stream.requests] == [100]
    sent(stream, of_keys(*["a"] * 3))
    assert [len(each) for each in stream.requests[1:]] == [1, 1, 1]


def test_what_finally_failed_is_reported_and_what_follows_of_its_key() -> None:
    stream = Stream(lambda entry: THROTTLED if entry["Data"] == b"1" else None)
    report = sent(stream, of_keys("a", "b", "a", "b", "b"), attempts=3)
    assert [(each.index, each.attempts, each.code) for each in report.unsent] == [
        (1, 3, THROTTLED),
        (3, 0, BEHIND_UNSENT),
        (4, 0, BEHIND_UNSENT),
    ]
    assert stream.stored == [("a", b"0"), ("a", b"2")]
    assert sorted(report.acknowledged) == [0, 2]


@pytest.mark.parametrize(
    ("error", "code", "requests"),
    [
        (KinesisUnreachable("cut"), NO_ANSWER, 3),
        (KinesisRefused(THROTTLED, "slow down", "PutRecords"), THROTTLED, 3),
        (KinesisRefused("InternalFailure", "oops", "PutRecords"), "InternalFailure", 3),
        (KinesisRefused("AccessDeniedException", "no", "PutRecords"), "AccessDeniedException", 1),
        (KinesisRefused("ResourceNotFoundException", "", ""), "ResourceNotFoundException", 1),
    ],
)
def test_a_request_that_fails_as_a_whole(error: Exception, code: str, requests: int) -> None:
    """What waiting does not cure is not tried again."""
    stream = Stream()
    stream.error = error
    report = sent(stream, of_keys("a", "b"), attempts=3)
    assert [each.code for each in report.unsent] == [code, code]
    assert len(stream.requests) == requests


def test_requests_are_under_way_together_up_to_a_number() -> None:
    stream = Stream()
    sent(stream, of_keys(*(f"{number}" for number in range(5_000))), requests=3)
    assert stream.most_under_way == 3


def test_nothing_to_send() -> None:
    assert sent(Stream(), []).is_complete


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Outgoing(b"x" * 100, "k"), "record 1: data and key have 101 bytes; allowed are 50"),
        (Outgoing(b"", ""), "record 1: its partition key has 0 characters; allowed are 1 to 256"),
        (Outgoing(b"", "k" * 257), "has 257 characters"),
        (Outgoing(b"", "\ud800"), "is not Unicode text"),
        (Outgoing(b"", "k", "-1"), "allowed are the decimal digits of 0 to"),
        (Outgoing(b"", "k", str(2**128)), "allowed are the decimal digits of 0 to"),
    ],
)
def test_a_record_that_no_stream_takes_is_refused_before_anything_is_sent(
    record: Outgoing, problem: str
) -> None:
    stream = Stream()
    with pytest.raises(BadRecord, match=problem):
        sent(stream, [Outgoing(b"good", "k"), record], max_record_bytes=50)
    assert not stream.requests


def test_256_characters_may_be_more_bytes() -> None:
    stream = Stream()
    assert sent(stream, [Outgoing(b"", "é" * 256)]).is_complete


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"attempts": 0}, "attempts=0: allowed are 1 to"),
        ({"requests": 65}, "requests=65: allowed are 1 to 64"),
        ({"max_record_bytes": 11 * 2**20}, "allowed are 1 to 10485760"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, int], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        Producer("orders", **options)  # type: ignore[arg-type]


def test_a_stream_needs_a_name() -> None:
    with pytest.raises(SettingsError, match="needs the name or the ARN"):
        Producer("")


def test_a_record_shows_neither_its_data_nor_its_key() -> None:
    assert repr(Outgoing(b"secret", "alice")) == "Outgoing(6 bytes)"


def on_stage(scene: Callable[[Stage], Coroutine[Any, Any, T]], shards: int) -> T:
    return play(scene, shards=shards)


def test_records_without_a_key_spread_over_the_shards() -> None:
    async def scene(stage: Stage) -> Counter[str]:
        producer = Producer(STREAM, kinesis=stage.port)
        report = await producer.send(Outgoing(b"x") for _ in range(400))
        return Counter(each.shard_id for each in report.acknowledged.values())

    found = on_stage(scene, shards=4)
    assert len(found) == 4
    assert min(found.values()) > 50


def test_a_hash_key_chooses_the_shard() -> None:
    async def scene(stage: Stage) -> set[str]:
        producer = Producer(STREAM, kinesis=stage.port)
        report = await producer.send(
            Outgoing(b"x", f"key-{number}", str(2**128 - 1)) for number in range(20)
        )
        return {each.shard_id for each in report.acknowledged.values()}

    assert on_stage(scene, shards=4) == {"shardId-000000000003"}


def test_a_shard_that_throttles_gets_everything_in_the_end() -> None:
    """1,000 records a second and shard are let through: 3,000 need three seconds."""

    async def scene(stage: Stage) -> float:
        producer = Producer(STREAM, kinesis=stage.port, attempts=50, random=Random(1))
        began_s = asyncio.get_running_loop().time()
        report = await producer.send(of_keys(*(f"key-{number % 750}" for number in range(3_000))))
        assert report.is_complete
        assert report.retries > 0
        took_s = asyncio.get_running_loop().time() - began_s
        by_key: dict[str, list[int]] = defaultdict(list)
        stage.start()
        await stage.until(3_000)
        for each in stage.seen:
            by_key[each.key].append(int(each.data))
        assert all(numbers == sorted(numbers) for numbers in by_key.values())
        return took_s

    assert 2 <= on_stage(scene, shards=1) < 10
