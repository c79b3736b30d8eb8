"""PutRecord and PutRecords. API Reference pages are named per test."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest

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
    shards,
)

KIB = 1024
MIB = 1024 * KIB


def test_sequence_numbers_have_56_digits_and_grow_with_gaps(service: Service) -> None:
    """PutRecord: "Sequence numbers increase over time and are specific to a shard"."""
    create(service)
    numbers = [put(service)["SequenceNumber"] for _ in range(50)]
    assert {len(number) for number in numbers} == {56}
    assert all(int(later) - int(earlier) > 1 for earlier, later in pairwise(numbers))
    assert int(numbers[0]) > 2**63


def test_shard_ids_repeat_across_streams(service: Service) -> None:
    """Two streams: each begins with shardId-000000000000."""
    create(service)
    create(service, name="other")
    assert put(service)["ShardId"] == SHARD_0
    other = service.call("PutRecord", StreamName="other", Data=b"x", PartitionKey="k")
    assert other["ShardId"] == SHARD_0


@pytest.mark.parametrize("key", ["a", "key-17", "Ünïcödé", "鍵", "🔑" * 256])
def test_the_shard_is_found_by_md5_of_the_partition_key(service: Service, key: str) -> None:
    """PutRecord: "An MD5 hash function is used to map partition keys to 128-bit integer values"."""
    create(service, shards=7)
    hashed = int.from_bytes(hashlib.md5(key.encode()).digest(), "big")
    owner = [
        shard["ShardId"]
        for shard in shards(service)
        if int(shard["HashKeyRange"]["StartingHashKey"])
        <= hashed
        <= int(shard["HashKeyRange"]["EndingHashKey"])
    ]
    assert [put(service, key=key)["ShardId"]] == owner


def test_an_explicit_hash_key_overrides_the_partition_key(service: Service) -> None:
    """PutRecord: ExplicitHashKey, "overriding the partition key hash"; the record keeps its key."""
    create(service, shards=2)
    assert put(service, ExplicitHashKey="0")["ShardId"] == SHARD_0
    assert put(service, ExplicitHashKey=str(2**128 - 1))["ShardId"] == SHARD_1
    records = read(service, iterator(service, shard=SHARD_1))["Records"]
    assert [record["PartitionKey"] for record in records] == ["k"]


@pytest.mark.parametrize("explicit", [str(2**128), "01", "-1", "x"])
def test_a_hash_key_has_128_bits(service: Service, explicit: str) -> None:
    """PutRecord: ExplicitHashKey, pattern 0|([1-9]\\d{0,38})."""
    create(service)
    with pytest.raises(Refused, match=r"InvalidArgumentException|ValidationException"):
        put(service, ExplicitHashKey=explicit)


@pytest.mark.parametrize("key", ["", "x" * 257])
def test_a_partition_key_has_1_to_256_characters(service: Service, key: str) -> None:
    """PutRecord: "Partition keys are Unicode strings with a maximum length limit of 256
    characters"."""
    create(service)
    with pytest.raises(Refused, match=r"ValidationException.*'partitionKey'"):
        put(service, key=key)


def test_a_partition_key_is_required(service: Service) -> None:
    create(service)
    with pytest.raises(Refused, match=r"ValidationException.*'partitionKey'.*must not be null"):
        service.call("PutRecord", StreamName=STREAM, Data=b"x")


def test_a_record_has_up_to_one_mebibyte_of_data(service: Service) -> None:
    """CreateStream: MaxRecordSizeInKiB, 1024 by default."""
    create(service)
    put(service, data=b"x" * MIB)
    with pytest.raises(Refused, match=r"ValidationException.*'data'.*1048576"):
        put(service, data=b"x" * (MIB + 1))


def test_a_stream_may_allow_larger_records(service: Service) -> None:
    """UpdateMaxRecordSize: "single records up to 10240 KiB"."""
    made = create(service)
    service.call("UpdateMaxRecordSize", StreamARN=made, MaxRecordSizeInKiB=10_240)
    put(service, data=b"x" * (10 * MIB))
    service.advance(12)
    with pytest.raises(Refused, match="ValidationException"):
        put(service, data=b"x" * (10 * MIB + 1))


def test_data_may_be_empty_and_any_bytes(service: Service) -> None:
    """PutRecord: Data, length 0 upwards."""
    create(service)
    every = bytes(range(256))
    put(service, data=b"")
    put(service, data=every)
    assert data(read(service, iterator(service))["Records"]) == [b"", every]


def test_a_shard_takes_1000_records_a_second(service: Service) -> None:
    """PutRecords: "Each shard can support writes up to 1,000 records per second"."""
    create(service)
    entries = [{"Data": b"x", "PartitionKey": "k"}] * 500
    for _ in range(2):
        assert (
            service.call("PutRecords", StreamName=STREAM, Records=entries)["FailedRecordCount"] == 0
        )
    with pytest.raises(Refused, match=r"ProvisionedThroughputExceededException.*Rate exceeded"):
        put(service)
    service.advance(0.1)
    answer = service.call("PutRecords", StreamName=STREAM, Records=entries)
    assert answer["FailedRecordCount"] == 400


def test_a_shard_takes_one_mebibyte_a_second(service: Service) -> None:
    """PutRecords: "up to a maximum data write total of 1 MiB per second" per shard, partition
    keys included."""
    create(service)
    put(service, data=b"x" * (512 * KIB - 1))
    put(service, data=b"x" * (512 * KIB - 1))
    with pytest.raises(Refused, match="ProvisionedThroughputExceededException"):
        put(service)
    service.advance(0.5)
    put(service, data=b"x" * (512 * KIB - 1))


def test_each_shard_has_write_limits_of_its_own(service: Service) -> None:
    create(service, shards=2)
    put(service, data=b"x" * MIB, ExplicitHashKey="0")
    with pytest.raises(Refused, match="ProvisionedThroughputExceededException"):
        put(service, ExplicitHashKey="0")
    put(service, ExplicitHashKey=str(2**128 - 1))


def test_entries_of_a_batch_fail_one_by_one(service: Service) -> None:
    """PutRecords: FailedRecordCount, and per entry ErrorCode with a message that names the
    shard."""
    create(service, shards=2)
    big = {"Data": b"x" * MIB, "PartitionKey": "k", "ExplicitHashKey": "0"}
    small = {"Data": b"y", "PartitionKey": "k"}
    low, high = small | {"ExplicitHashKey": "0"}, small | {"ExplicitHashKey": str(2**128 - 1)}
    answer = service.call("PutRecords", StreamName=STREAM, Records=[big, high, low, high])
    assert answer["FailedRecordCount"] == 1
    ok, other, failed, last = answer["Records"]
    assert failed["ErrorCode"] == "ProvisionedThroughputExceededException"
    assert "shardId-000000000000 in stream orders under account" in failed["ErrorMessage"]
    assert "SequenceNumber" not in failed
    assert [each["ShardId"] for each in (ok, other, last)] == [SHARD_0, SHARD_1, SHARD_1]
    assert len(read(service, iterator(service, shard=SHARD_1))["Records"]) == 2


def test_a_batch_has_up_to_500_records(service: Service) -> None:
    """PutRecords: "Each PutRecords request can support up to 500 records"."""
    create(service)
    entries = [{"Data": b"x", "PartitionKey": "k"}] * 501
    with pytest.raises(Refused, match=r"ValidationException.*'records'.*less than or equal to 500"):
        service.call("PutRecords", StreamName=STREAM, Records=entries)
    with pytest.raises(Refused, match=r"ValidationException.*'records'"):
        service.call("PutRecords", StreamName=STREAM, Records=[])


def test_a_batch_has_up_to_10_mebibytes(make_service: MakeService) -> None:
    """PutRecords: "up to a limit of 10 MiB for the entire request, including partition keys"."""
    service = make_service(limits=Limits(write_bytes_per_s=None))
    create(service)
    entries = [{"Data": b"x" * (MIB - 1), "PartitionKey": "k"}] * 10
    assert service.call("PutRecords", StreamName=STREAM, Records=entries)["FailedRecordCount"] == 0
    entries[0] = {"Data": b"x" * MIB, "PartitionKey": "k"}
    with pytest.raises(Refused, match=r"InvalidArgumentException.*10 MB"):
        service.call("PutRecords", StreamName=STREAM, Records=entries)


def test_one_wrong_entry_refuses_the_whole_batch(service: Service) -> None:
    """PutRecords: a request that breaks a constraint is a ValidationException, nothing written."""
    create(service)
    entries = [{"Data": b"x", "PartitionKey": "k"}, {"Data": b"x", "PartitionKey": ""}]
    with pytest.raises(Refused, match=r"ValidationException.*'records\.2\.member\.partitionKey'"):
        service.call("PutRecords", StreamName=STREAM, Records=entries)
    assert read(service, iterator(service))["Records"] == []


def test_a_number_for_ordering_must_have_been_given_out(service: Service) -> None:
    """PutRecord: SequenceNumberForOrdering, "strictly increasing sequence numbers"."""
    create(service)
    first = put(service)["SequenceNumber"]
    second = put(service, SequenceNumberForOrdering=first)["SequenceNumber"]
    assert int(second) > int(first)
    with pytest.raises(Refused, match=r"InvalidArgumentException.*ExclusiveMinimumSequenceNumber"):
        put(service, SequenceNumberForOrdering=str(int(second) + 10**20))


def test_arrivals_are_stamped_in_whole_milliseconds(service: Service) -> None:
    """Record: ApproximateArrivalTimestamp "has millisecond precision"."""
    create(service)
    service.advance(0.123_456)
    put(service)
    record = read(service, iterator(service))["Records"][0]
    arrival_ms = ms(record["ApproximateArrivalTimestamp"])
    assert arrival_ms == pytest.approx(service.now_ms, abs=1.1)
    assert arrival_ms == int(arrival_ms)


def test_a_dry_run_writes_nothing(service: Service) -> None:
    """PutRecord: DryRun, "Checks if your request will succeed"."""
    create(service)
    with pytest.raises(Refused, match="DryRunOperationException"):
        put(service, DryRun=True)
    assert read(service, iterator(service))["Records"] == []


def test_a_full_memory_says_so_and_trimmed_records_make_room(make_service: MakeService) -> None:
    """Ours: the service has no such cap."""
    service = make_service(limits=Limits(memory_bytes=10_000))
    create(service)
    put(service, data=b"x" * 9_000)
    with pytest.raises(Refused, match=r"LocalKinesisMemoryFull.*may hold 10000"):
        put(service, data=b"x" * 2_000)
    service.advance(24 * 3600 + 1)
    put(service, data=b"x" * 2_000)
