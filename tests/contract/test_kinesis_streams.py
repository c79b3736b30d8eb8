"""Streams: states, names, descriptions and settings. API Reference pages are named per test."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limits import Limits
from tests.contract.conftest import MakeService
from tests.contract.service import STREAM, Refused, Service, arn, create, ms, put, shards


def status(service: Service, name: str = STREAM) -> str:
    summary = service.call("DescribeStreamSummary", StreamName=name)
    return str(summary["StreamDescriptionSummary"]["StreamStatus"])


def test_a_stream_is_creating_and_then_active(make_service: MakeService) -> None:
    """CreateStream: "sets the stream status to CREATING. After the stream is created … ACTIVE"."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=2)
    assert status(service) == "CREATING"
    service.advance(0.9)
    assert status(service) == "CREATING"
    service.advance(0.2)
    assert status(service) == "ACTIVE"
    assert len(shards(service)) == 2


def test_records_are_refused_while_a_stream_is_creating(make_service: MakeService) -> None:
    """CreateStream: "You can perform read and write operations only on an ACTIVE stream"."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        put(service)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("SplitShard", {"ShardToSplit": "shardId-000000000000", "NewStartingHashKey": "10"}),
        ("UpdateShardCount", {"TargetShardCount": 2, "ScalingType": "UNIFORM_SCALING"}),
        ("IncreaseStreamRetentionPeriod", {"RetentionPeriodHours": 48}),
    ],
)
def test_changes_are_refused_while_a_stream_is_not_active(
    make_service: MakeService, operation: str, request_: dict[str, object]
) -> None:
    """SplitShard: "If the specified stream is not in the ACTIVE status … ResourceInUse"."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    with pytest.raises(Refused, match=r"ResourceInUseException.*not ACTIVE.*CREATING"):
        service.call(operation, StreamName=STREAM, **request_)


def test_a_deleted_stream_is_deleting_and_then_gone(make_service: MakeService) -> None:
    """DeleteStream: "in the DELETING state until Kinesis Data Streams completes the deletion"."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(1)
    service.call("DeleteStream", StreamName=STREAM)
    assert status(service) == "DELETING"
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        put(service)
    service.advance(1)
    with pytest.raises(Refused, match=r"ResourceNotFoundException.*Stream orders under account"):
        status(service)
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)  # the name is free again


def test_a_stream_with_consumers_is_deleted_only_when_told_so(service: Service) -> None:
    """DeleteStream: "EnforceConsumerDeletion: If this parameter is unset … and the stream has
    registered consumers, the call … fails with a ResourceInUseException"."""
    made = create(service)
    service.call("RegisterStreamConsumer", StreamARN=made, ConsumerName="efo")
    with pytest.raises(Refused, match="ResourceInUseException"):
        service.call("DeleteStream", StreamName=STREAM)
    service.call("DeleteStream", StreamName=STREAM, EnforceConsumerDeletion=True)
    assert service.call("ListStreams")["StreamNames"] == []


def test_a_name_is_taken_once(service: Service) -> None:
    """CreateStream, errors: ResourceInUseException."""
    create(service)
    with pytest.raises(Refused, match=r"ResourceInUseException.*already exists"):
        service.call("CreateStream", StreamName=STREAM, ShardCount=1)


@pytest.mark.parametrize("name", ["", "with space", "x" * 129, "ä"])
def test_a_name_has_up_to_128_of_the_allowed_characters(service: Service, name: str) -> None:
    """CreateStream: pattern [a-zA-Z0-9_.-]+, length 1 to 128."""
    with pytest.raises(Refused, match=r"ValidationException: \d validation error.*'streamName'"):
        service.call("CreateStream", StreamName=name, ShardCount=1)


def test_a_stream_is_found_by_name_by_arn_or_by_both(service: Service) -> None:
    """PutRecord: "you must use either the StreamARN or the StreamName parameter, or both"."""
    made = create(service)
    for names in ({"StreamName": STREAM}, {"StreamARN": made}):
        service.call("DescribeStreamSummary", **names)
    service.call("DescribeStreamSummary", StreamName=STREAM, StreamARN=made)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        service.call("DescribeStreamSummary")
    with pytest.raises(Refused, match="InvalidArgumentException"):
        service.call("DescribeStreamSummary", StreamName="other", StreamARN=made)


def test_an_arn_of_another_region_or_account_is_not_found(service: Service) -> None:
    made = create(service)
    for other in (made.replace("us-east-1", "eu-west-1"), made.replace("000000000000", "1" * 12)):
        with pytest.raises(Refused, match="ResourceNotFoundException"):
            service.call("DescribeStreamSummary", StreamARN=other)


def test_the_summary_says_what_a_reader_needs(service: Service) -> None:
    """DescribeStreamSummary: StreamDescriptionSummary."""
    create(service, shards=3)
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert summary["StreamARN"] == "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    assert summary["OpenShardCount"] == 3
    assert summary["ConsumerCount"] == 0
    assert summary["RetentionPeriodHours"] == 24
    assert summary["StreamModeDetails"] == {"StreamMode": "PROVISIONED"}
    assert summary["EncryptionType"] == "NONE"
    assert summary["MaxRecordSizeInKiB"] == 1024
    assert ms(summary["StreamCreationTimestamp"]) == pytest.approx(service.now_ms, abs=1000)
    assert "StreamId" not in summary, "SDKs would call AWS instead of this endpoint"


def test_describe_stream_shows_shards_in_pages(service: Service) -> None:
    """DescribeStream: Limit, ExclusiveStartShardId, HasMoreShards."""
    create(service, shards=5)
    first = service.call("DescribeStream", StreamName=STREAM, Limit=3)["StreamDescription"]
    assert [shard["ShardId"][-1] for shard in first["Shards"]] == ["0", "1", "2"]
    assert first["HasMoreShards"] is True
    last = first["Shards"][-1]["ShardId"]
    rest = service.call("DescribeStream", StreamName=STREAM, ExclusiveStartShardId=last)
    assert [shard["ShardId"][-1] for shard in rest["StreamDescription"]["Shards"]] == ["3", "4"]
    assert rest["StreamDescription"]["HasMoreShards"] is False


def test_list_streams_shows_names_in_pages(service: Service) -> None:
    """ListStreams: Limit, ExclusiveStartStreamName, NextToken, HasMoreStreams."""
    for name in ("c", "a", "b"):
        create(service, name=name)
    first = service.call("ListStreams", Limit=2)
    assert first["StreamNames"] == ["a", "b"]
    assert first["HasMoreStreams"] is True
    assert first["StreamSummaries"][0]["StreamARN"] == arn(service, "a")
    assert service.call("ListStreams", NextToken=first["NextToken"])["StreamNames"] == ["c"]
    after = service.call("ListStreams", ExclusiveStartStreamName="a")
    assert after["StreamNames"] == ["b", "c"]
    assert after["HasMoreStreams"] is False


def test_control_calls_have_a_rate_per_account(service: Service) -> None:
    """DescribeStream: "a limit of 10 transactions per second per account"."""
    create(service)
    for _ in range(10):
        service.call("DescribeStream", StreamName=STREAM)
    with pytest.raises(Refused, match="LimitExceededException"):
        service.call("DescribeStream", StreamName=STREAM)
    service.advance(0.11)
    service.call("DescribeStream", StreamName=STREAM)


def test_an_account_has_so_many_shards(make_service: MakeService) -> None:
    """CreateStream: LimitExceededException, "Create more shards than are authorized"."""
    service = make_service(limits=Limits(shards_per_account=4))
    create(service, shards=3)
    with pytest.raises(Refused, match=r"LimitExceededException.*exceed the shard limit"):
        service.call("CreateStream", StreamName="other", ShardCount=2)
    service.call("CreateStream", StreamName="other", ShardCount=1)


def test_at_most_five_streams_are_creating(make_service: MakeService) -> None:
    """CreateStream: "Have more than five streams in the CREATING state at any point in time"."""
    service = make_service(delays=Delays(status_change_ms=5000))
    for number in range(5):
        service.call("CreateStream", StreamName=f"s{number}", ShardCount=1)
    service.advance(1)
    with pytest.raises(Refused, match="LimitExceededException"):
        service.call("CreateStream", StreamName="s5", ShardCount=1)
    service.advance(5)
    service.call("CreateStream", StreamName="s5", ShardCount=1)


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "hours", "words"),
    [
        ("IncreaseStreamRetentionPeriod", 23, "Minimum allowed retention period is 24"),
        ("IncreaseStreamRetentionPeriod", 8761, "Maximum allowed retention period is 8760"),
        ("IncreaseStreamRetentionPeriod", 30, "can not be shorter"),
        ("DecreaseStreamRetentionPeriod", 60, "can not be longer"),
    ],
)
def test_retention_is_between_24_and_8760_hours_and_moves_the_way_the_call_says(
    service: Service, operation: str, hours: int, words: str
) -> None:
    """IncreaseStreamRetentionPeriod, DecreaseStreamRetentionPeriod: InvalidArgumentException."""
    create(service)
    service.call("IncreaseStreamRetentionPeriod", StreamName=STREAM, RetentionPeriodHours=48)
    with pytest.raises(Refused, match=f"InvalidArgumentException.*{words}"):
        service.call(operation, StreamName=STREAM, RetentionPeriodHours=hours)


def test_retention_is_echoed(service: Service) -> None:
    create(service)
    service.call("IncreaseStreamRetentionPeriod", StreamName=STREAM, RetentionPeriodHours=8760)
    service.call("DecreaseStreamRetentionPeriod", StreamName=STREAM, RetentionPeriodHours=25)
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert summary["RetentionPeriodHours"] == 25


def test_encryption_is_echoed(service: Service) -> None:
    """StartStreamEncryption, StopStreamEncryption; EncryptionType of PutRecord."""
    create(service)
    key = {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    service.call("StartStreamEncryption", StreamName=STREAM, **key)
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert (summary["EncryptionType"], summary["KeyId"]) == ("KMS", "alias/aws/kinesis")
    assert put(service)["EncryptionType"] == "KMS"
    service.call("StopStreamEncryption", StreamName=STREAM, **key)
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert summary["EncryptionType"] == "NONE"
    assert "KeyId" not in summary


def test_enhanced_monitoring_is_echoed(service: Service) -> None:
    """EnableEnhancedMonitoring: current and desired metrics; ALL stands for every one."""
    create(service)
    one = service.call(
        "EnableEnhancedMonitoring", StreamName=STREAM, ShardLevelMetrics=["IncomingBytes"]
    )
    assert one["CurrentShardLevelMetrics"] == []
    assert one["DesiredShardLevelMetrics"] == ["IncomingBytes"]
    every = service.call("EnableEnhancedMonitoring", StreamName=STREAM, ShardLevelMetrics=["ALL"])
    assert len(every["DesiredShardLevelMetrics"]) == 7
    service.call("DisableEnhancedMonitoring", StreamName=STREAM, ShardLevelMetrics=["ALL"])
    summary = service.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]
    assert summary["EnhancedMonitoring"] == [{"ShardLevelMetrics": []}]


def test_tags_are_added_listed_and_removed(service: Service) -> None:
    """AddTagsToStream, ListTagsForStream, RemoveTagsFromStream."""
    create(service, Tags={"team": "orders"})
    service.call("AddTagsToStream", StreamName=STREAM, Tags={"stage": "dev", "a": "1"})
    first = service.call("ListTagsForStream", StreamName=STREAM, Limit=2)
    assert first["Tags"] == [{"Key": "a", "Value": "1"}, {"Key": "stage", "Value": "dev"}]
    assert first["HasMoreTags"] is True
    service.call("RemoveTagsFromStream", StreamName=STREAM, TagKeys=["a", "stage"])
    rest = service.call("ListTagsForStream", StreamName=STREAM)
    assert rest["Tags"] == [{"Key": "team", "Value": "orders"}]


def test_a_resource_has_at_most_50_tags(service: Service) -> None:
    """AddTagsToStream: "You can assign up to 50 tags to a data stream"."""
    create(service, Tags={str(number): "x" for number in range(50)})
    with pytest.raises(Refused, match="InvalidArgumentException"):
        service.call("AddTagsToStream", StreamName=STREAM, Tags={"one more": "x"})


def test_consumers_have_tags_of_their_own(service: Service) -> None:
    """TagResource, ListTagsForResource, UntagResource on the ARN of a consumer."""
    made = create(service)
    consumer = service.call(
        "RegisterStreamConsumer", StreamARN=made, ConsumerName="efo", Tags={"a": "1"}
    )["Consumer"]["ConsumerARN"]
    service.call("TagResource", ResourceARN=consumer, Tags={"b": "2"})
    service.call("UntagResource", ResourceARN=consumer, TagKeys=["a"])
    tags = service.call("ListTagsForResource", ResourceARN=consumer)["Tags"]
    assert tags == [{"Key": "b", "Value": "2"}]
    assert service.call("ListTagsForResource", ResourceARN=made)["Tags"] == []


def test_the_limits_of_the_account_are_described(service: Service) -> None:
    """DescribeLimits."""
    create(service, shards=3)
    limits = service.call("DescribeLimits")
    assert limits["OpenShardCount"] == 3
    assert limits["ShardLimit"] == 20_000


def test_a_resource_policy_is_kept(service: Service) -> None:
    """PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy."""
    made = create(service)
    service.call("PutResourcePolicy", ResourceARN=made, Policy='{"Version": "2012-10-17"}')
    policy = service.call("GetResourcePolicy", ResourceARN=made)["Policy"]
    assert policy == '{"Version": "2012-10-17"}'
    service.call("DeleteResourcePolicy", ResourceARN=made)
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        service.call("GetResourcePolicy", ResourceARN=made)


def test_on_demand_streams_are_not_resharded_by_hand(service: Service) -> None:
    """UpdateStreamMode; SplitShard: "only supported for the data streams with the provisioned
    capacity mode"."""
    service.call("CreateStream", StreamName=STREAM, StreamModeDetails={"StreamMode": "ON_DEMAND"})
    assert len(shards(service)) == 4
    with pytest.raises(Refused, match=r"ValidationException.*On-Demand"):
        service.call(
            "UpdateShardCount",
            StreamName=STREAM,
            TargetShardCount=8,
            ScalingType="UNIFORM_SCALING",
        )
    service.call(
        "UpdateStreamMode",
        StreamARN=arn(service),
        StreamModeDetails={"StreamMode": "PROVISIONED"},
    )
    service.call(
        "UpdateShardCount", StreamName=STREAM, TargetShardCount=8, ScalingType="UNIFORM_SCALING"
    )
    assert len(shards(service, ShardFilter={"Type": "AT_LATEST"})) == 8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "ShardCount is required"),
        (
            {"ShardCount": 1, "StreamModeDetails": {"StreamMode": "ON_DEMAND"}},
            "ShardCount is not supported",
        ),
        ({"ShardCount": 1, "RecordDistributionStrategy": "AUTO"}, "needs a stream in ON_DEMAND"),
    ],
)
def test_a_stream_has_a_shard_count_if_it_is_provisioned(
    service: Service, settings: dict[str, Any], words: str
) -> None:
    """CreateStream: ShardCount, StreamModeDetails, RecordDistributionStrategy."""
    with pytest.raises(Refused, match=f"ValidationException.*{words}"):
        service.call("CreateStream", StreamName=STREAM, **settings)


def test_records_without_a_key_are_spread_over_an_automatic_stream(service: Service) -> None:
    """CreateStream: RecordDistributionStrategy AUTO."""
    service.call(
        "CreateStream",
        StreamName=STREAM,
        StreamModeDetails={"StreamMode": "ON_DEMAND"},
        RecordDistributionStrategy="AUTO",
    )
    put_to = {service.call("PutRecord", StreamName=STREAM, Data=b"x")["ShardId"] for _ in range(4)}
    assert len(put_to) == 4


def test_deleting_a_stream_twice_is_no_error(make_service: MakeService) -> None:
    """DeleteStream of a stream in status DELETING."""
    service = make_service(delays=Delays(status_change_ms=5000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(6)
    service.call("DeleteStream", StreamName=STREAM)
    service.call("DeleteStream", StreamName=STREAM)


def test_tag_keys_of_aws_are_reserved(service: Service) -> None:
    """AddTagsToStream: "aws: … reserved"."""
    create(service)
    with pytest.raises(Refused, match=r"InvalidArgumentException.*aws:Owner"):
        service.call("AddTagsToStream", StreamName=STREAM, Tags={"aws:Owner": "me"})


@pytest.mark.parametrize(
    ("operation", "member", "wrong", "words"),
    [
        (
            "DescribeStreamSummary",
            "StreamARN",
            "{stream}/consumer/efo:1",
            "InvalidArgumentException.*is not the ARN of a stream",
        ),
        ("DescribeStreamConsumer", "ConsumerARN", "{stream}", "ValidationException.*'consumerARN'"),
    ],
)
def test_an_arn_of_another_kind_is_refused(
    service: Service, operation: str, member: str, wrong: str, words: str
) -> None:
    made = create(service)
    with pytest.raises(Refused, match=words):
        service.call(operation, **{member: wrong.format(stream=made)})


def test_a_name_and_an_arn_must_agree(service: Service) -> None:
    made = create(service)
    with pytest.raises(Refused, match=r"InvalidArgumentException.*does not match"):
        service.call("DescribeStreamSummary", StreamName="other", StreamARN=made)
