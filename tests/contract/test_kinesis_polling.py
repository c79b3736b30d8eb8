"""GetShardIterator and GetRecords. API Reference pages are named per test."""

from __future__ import annotations

import datetime as dt

import pytest

from shardlane_lab.local_kinesis.limiter import LimiterShape
from shardlane_lab.local_kinesis.limits import Limits
from tests.contract.conftest import MakeService
from tests.contract.service import (
    SHARD_0,
    SHARD_1,
    STREAM,
    Refused,
    Service,
    create,
    data,
    iterator,
    ms,
    put,
    read,
)

MIB = 1024 * 1024
THROTTLED = r"ProvisionedThroughputExceededException: Rate exceeded for shard shardId-0{12} in"


def passed_calls(service: Service, position: str, calls: int, apart_s: float) -> int:
    """How many of so many GetRecords calls were not throttled."""
    passed = 0
    for _ in range(calls):
        try:
            read(service, position)
            passed += 1
        except Refused as error:
            if error.code != "ProvisionedThroughputExceededException":
                raise
        service.advance(apart_s)
    return passed


def test_a_shard_answers_5_reads_a_second(service: Service) -> None:
    """GetRecords: "Each shard can support up to five read transactions per second"."""
    create(service)
    position = iterator(service)
    for _ in range(5):
        read(service, position)
    with pytest.raises(Refused, match=THROTTLED):
        read(service, position)
    service.advance(0.21)
    read(service, position)
    with pytest.raises(Refused, match=THROTTLED):
        read(service, position)


def test_all_readers_of_a_shard_share_its_reads(service: Service) -> None:
    """GetRecords: the limit is the shard's, whichever iterator asks."""
    create(service)
    positions = [iterator(service) for _ in range(3)]
    assert sum(passed_calls(service, position, 2, 0) for position in positions) == 5


def test_each_shard_has_read_limits_of_its_own(service: Service) -> None:
    create(service, shards=2)
    assert passed_calls(service, iterator(service, shard=SHARD_0), 6, 0) == 5
    assert passed_calls(service, iterator(service, shard=SHARD_1), 6, 0) == 5


@pytest.mark.parametrize(
    ("shape", "granted"),
    [
        (LimiterShape.TOKEN_BUCKET, 5 + 14),
        (LimiterShape.SLIDING_WINDOW, 15),
        (LimiterShape.FIXED_WINDOW, 15),
    ],
)
def test_the_shape_of_the_read_limiter_is_a_choice(
    make_service: MakeService, shape: LimiterShape, granted: int
) -> None:
    """Undocumented: how "five per second" is counted. 60 calls over 3 s."""
    service = make_service(limits=Limits(get_records_shape=shape))
    create(service)
    assert passed_calls(service, iterator(service), 60, 0.05) == pytest.approx(granted, abs=1)


def test_a_limit_can_be_switched_off(make_service: MakeService) -> None:
    service = make_service(limits=Limits.unlimited())
    create(service)
    assert passed_calls(service, iterator(service), 20, 0) == 20


def test_an_answer_has_up_to_10000_records(make_service: MakeService) -> None:
    """GetRecords: "The maximum number of records that can be returned per call is 10,000"."""
    service = make_service(limits=Limits(write_records_per_s=None))
    create(service)
    entries = [{"Data": b"x", "PartitionKey": "k"}] * 500
    for _ in range(21):
        service.call("PutRecords", StreamName=STREAM, Records=entries)
    first = read(service, iterator(service))
    assert len(first["Records"]) == 10_000
    assert len(read(service, first["NextShardIterator"])["Records"]) == 500
    assert len(read(service, iterator(service), Limit=7)["Records"]) == 7
    with pytest.raises(Refused, match=r"ValidationException.*'limit'.*10000"):
        read(service, iterator(service), Limit=10_001)


def test_after_an_answer_of_10_mebibytes_reads_throttle_for_5_seconds(
    make_service: MakeService,
) -> None:
    """GetRecords: "If a call returns this amount of data, subsequent calls made within the next
    five seconds throw ProvisionedThroughputExceededException"."""
    service = make_service(limits=Limits(write_bytes_per_s=None))
    create(service)
    for number in range(11):
        put(service, data=bytes([number]) * (MIB - 1))
    answer = read(service, iterator(service))
    assert len(answer["Records"]) == 10
    service.advance(4.9)
    with pytest.raises(Refused, match=THROTTLED):
        read(service, answer["NextShardIterator"])
    service.advance(0.2)
    assert len(read(service, answer["NextShardIterator"])["Records"]) == 1


def test_a_shard_gives_2_mebibytes_a_second(make_service: MakeService) -> None:
    """GetRecords: "a maximum total data read rate of 2 MiB per second" per shard."""
    service = make_service(limits=Limits(write_bytes_per_s=None))
    create(service)
    for _ in range(40):
        put(service, data=b"x" * (MIB // 2 - 1))
    position, read_bytes, ran_s = iterator(service), 0, 0.0
    while read_bytes < 20 * MIB - 100:
        try:
            answer = read(service, position, Limit=1)
        except Refused:
            service.advance(0.05)
            ran_s += 0.05
            continue
        position = answer["NextShardIterator"]
        read_bytes += sum(len(record["Data"]) + 1 for record in answer["Records"])
    assert ran_s == pytest.approx((20 - 2) / 2, abs=0.3)  # 2 MiB at once, then 2 MiB a second


def test_an_iterator_lives_300_seconds(service: Service) -> None:
    """GetShardIterator: "A shard iterator expires 5 minutes after it is returned"."""
    create(service)
    position = iterator(service)
    service.advance(299.9)
    following = read(service, position)["NextShardIterator"]
    service.advance(0.2)
    with pytest.raises(Refused, match=r"ExpiredIteratorException: Iterator expired"):
        read(service, position)
    read(service, following)


def test_every_answer_brings_a_new_iterator(service: Service) -> None:
    """GetRecords: NextShardIterator; "Use this value … in a subsequent call", empty or not."""
    create(service)
    position = iterator(service)
    seen = {position}
    for _ in range(3):
        position = read(service, position)["NextShardIterator"]
        seen.add(position)
    assert len(seen) == 4


def test_an_iterator_can_be_used_again(service: Service) -> None:
    """A retry after a lost answer reads the same records."""
    create(service)
    position = iterator(service)
    put(service, data=b"1")
    assert data(read(service, position)["Records"]) == [b"1"]
    assert data(read(service, position)["Records"]) == [b"1"]


@pytest.mark.parametrize("text", ["x", "AAAAAAAAAAE=", "🔑", "a" * 512])
def test_an_iterator_that_nobody_issued_is_invalid(service: Service, text: str) -> None:
    """GetRecords, errors: InvalidArgumentException."""
    create(service)
    with pytest.raises(Refused, match=r"InvalidArgumentException: Invalid ShardIterator"):
        read(service, text)


def test_an_iterator_of_a_deleted_stream_does_not_read_its_successor(service: Service) -> None:
    create(service)
    position = iterator(service)
    service.call("DeleteStream", StreamName=STREAM)
    create(service)
    put(service)
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        read(service, position)


def test_get_shard_iterator_is_called_5_times_a_second(service: Service) -> None:
    """GetShardIterator: "a limit of five transactions per second per account per open shard"."""
    create(service, shards=2)
    for _ in range(5):
        iterator(service)
    with pytest.raises(Refused, match=THROTTLED):
        iterator(service)
    iterator(service, shard=SHARD_1)
    service.advance(0.21)
    iterator(service)


@pytest.mark.parametrize("shard", ["shardId-000000000001", "shardId-0", "nonsense"])
def test_an_unknown_shard_is_not_found(service: Service, shard: str) -> None:
    """GetShardIterator, errors: ResourceNotFoundException."""
    create(service)
    with pytest.raises(Refused, match=f"ResourceNotFoundException.*Shard {shard} in stream"):
        iterator(service, shard=shard)


# --- where a reader starts ----------------------------------------------------------------------


def test_trim_horizon_starts_at_the_oldest_record(service: Service) -> None:
    """GetShardIterator, TRIM_HORIZON: "the oldest data record in the shard"."""
    create(service)
    for number in range(3):
        put(service, data=b"%d" % number)
    assert data(read(service, iterator(service))["Records"]) == [b"0", b"1", b"2"]


def test_latest_starts_after_the_newest_record(service: Service) -> None:
    """GetShardIterator, LATEST: "just after the most recent record in the shard"."""
    create(service)
    put(service, data=b"old")
    position = iterator(service, "LATEST")
    put(service, data=b"new")
    assert data(read(service, position)["Records"]) == [b"new"]


def test_at_and_after_a_sequence_number(service: Service) -> None:
    """GetShardIterator, AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER."""
    create(service)
    numbers = [put(service, data=b"%d" % number)["SequenceNumber"] for number in range(3)]
    at = iterator(service, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[1])
    after = iterator(service, "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[1])
    assert data(read(service, at)["Records"]) == [b"1", b"2"]
    assert data(read(service, after)["Records"]) == [b"2"]


def test_at_a_timestamp_starts_at_the_next_record(service: Service) -> None:
    """GetShardIterator, Timestamp: "If a record with this exact time stamp does not exist, the
    iterator returned is for the next (later) record"; older than the horizon is TRIM_HORIZON."""
    create(service)
    arrivals = []
    for number in range(3):
        put(service, data=b"%d" % number)
        record = read(service, iterator(service))["Records"][-1]
        arrivals.append(ms(record["ApproximateArrivalTimestamp"]))
        service.advance(1)
    for at_ms, expected in (
        (arrivals[1], [b"1", b"2"]),
        (arrivals[1] + 1, [b"2"]),
        (arrivals[2] + 500, []),
        (0, [b"0", b"1", b"2"]),
    ):
        at = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC)
        records = read(service, iterator(service, "AT_TIMESTAMP", Timestamp=at))["Records"]
        assert data(records) == expected
        service.advance(1)


def test_a_timestamp_in_the_future_is_refused(service: Service) -> None:
    create(service)
    at = dt.datetime.fromtimestamp(service.now_ms / 1000 + 10, dt.UTC)
    with pytest.raises(Refused, match="InvalidArgumentException: The timestampInMillis parameter"):
        iterator(service, "AT_TIMESTAMP", Timestamp=at)


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"])
def test_a_starting_point_that_is_missing_is_refused(service: Service, kind: str) -> None:
    create(service)
    with pytest.raises(Refused, match="InvalidArgumentException: Must either specify"):
        iterator(service, kind)


def test_a_number_of_another_shard_is_refused(service: Service) -> None:
    """GetShardIterator: "invalid because it did not come from this stream"."""
    create(service, shards=2)
    number = put(service, ExplicitHashKey="0")["SequenceNumber"]
    for wrong in (number, "0", "1", "9" * 56):
        with pytest.raises(Refused, match="InvalidArgumentException: StartingSequenceNumber"):
            iterator(service, "AT_SEQUENCE_NUMBER", SHARD_1, StartingSequenceNumber=wrong)


def test_an_unknown_iterator_type_is_refused(service: Service) -> None:
    create(service)
    with pytest.raises(Refused, match=r"ValidationException.*'shardIteratorType'.*enum value set"):
        iterator(service, "NEWEST")


def test_the_shards_starting_number_is_a_position(service: Service) -> None:
    """Shard: SequenceNumberRange.StartingSequenceNumber."""
    create(service)
    put(service, data=b"1")
    shard = service.call("ListShards", StreamName=STREAM)["Shards"][0]
    start = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    position = iterator(service, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=start)
    assert data(read(service, position)["Records"]) == [b"1"]


# --- retention and lag --------------------------------------------------------------------------


def test_records_older_than_retention_are_gone(service: Service) -> None:
    """ "By default, data records are accessible for 24 hours" (PutRecord)."""
    create(service)
    first = put(service, data=b"old")["SequenceNumber"]
    service.advance(12 * 3600)
    put(service, data=b"new")
    service.advance(12 * 3600 + 1)
    assert data(read(service, iterator(service))["Records"]) == [b"new"]
    trimmed = iterator(service, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=first)
    assert data(read(service, trimmed)["Records"]) == [b"new"]


def test_longer_retention_keeps_records_longer(service: Service) -> None:
    """IncreaseStreamRetentionPeriod."""
    create(service)
    service.call("IncreaseStreamRetentionPeriod", StreamName=STREAM, RetentionPeriodHours=48)
    put(service, data=b"old")
    service.advance(47 * 3600)
    assert data(read(service, iterator(service))["Records"]) == [b"old"]
    service.advance(3600 + 1)
    assert read(service, iterator(service))["Records"] == []


def test_millis_behind_latest_is_the_age_of_the_next_unread_record(service: Service) -> None:
    """GetRecords: MillisBehindLatest, "A value of zero indicates that record processing is caught
    up"."""
    create(service)
    put(service)
    service.advance(2)
    put(service)
    service.advance(3)
    answer = read(service, iterator(service), Limit=1)
    assert answer["MillisBehindLatest"] == pytest.approx(3000, abs=2)
    answer = read(service, answer["NextShardIterator"])
    assert answer["MillisBehindLatest"] == 0
    service.advance(10)
    assert read(service, answer["NextShardIterator"])["MillisBehindLatest"] == 0


def test_a_dry_run_reads_nothing_and_uses_up_nothing(service: Service) -> None:
    """GetShardIterator and GetRecords: DryRun."""
    create(service)
    put(service)
    position = iterator(service)
    for _ in range(8):
        with pytest.raises(Refused, match="DryRunOperationException"):
            read(service, position, DryRun=True)
        with pytest.raises(Refused, match="DryRunOperationException"):
            iterator(service, DryRun=True)
    assert len(read(service, position)["Records"]) == 1


def test_an_iterator_reads_its_own_stream_only(service: Service) -> None:
    """GetRecords: StreamARN beside a ShardIterator."""
    create(service)
    other = create(service, name="other")
    with pytest.raises(Refused, match="InvalidArgumentException"):
        read(service, iterator(service), StreamARN=other)


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_number_that_was_not_given_out_yet_is_refused(service: Service, kind: str) -> None:
    """GetShardIterator: StartingSequenceNumber is one that a put returned."""
    create(service)
    number = put(service)["SequenceNumber"]
    later = number[:18] + str(int(number[18:]) + 10**12).zfill(38)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        iterator(service, kind, StartingSequenceNumber=later)
