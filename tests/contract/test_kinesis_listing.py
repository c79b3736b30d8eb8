"""ListShards: pages, tokens and filters. API Reference: ListShards, ShardFilter."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.contract.service import SHARD_0, SHARD_1, STREAM, Refused, Service, create, shards
from tests.contract.test_kinesis_resharding import SHARD_2, SHARD_3, split


def ids(answer: dict[str, Any]) -> list[str]:
    return [shard["ShardId"] for shard in answer["Shards"]]


def test_shards_come_in_pages(service: Service) -> None:
    """MaxResults, NextToken."""
    create(service, shards=5)
    pages = []
    answer = service.call("ListShards", StreamName=STREAM, MaxResults=2)
    while True:
        pages.append(len(answer["Shards"]))
        if "NextToken" not in answer:
            break
        answer = service.call("ListShards", NextToken=answer["NextToken"], MaxResults=2)
    assert pages == [2, 2, 1]


def test_a_page_has_1000_shards_by_default(service: Service) -> None:
    """MaxResults: "The default value is 1000"."""
    create(service, shards=1200)
    answer = service.call("ListShards", StreamName=STREAM)
    assert len(answer["Shards"]) == 1000
    assert len(service.call("ListShards", NextToken=answer["NextToken"])["Shards"]) == 200


@pytest.mark.parametrize(
    "beside",
    [
        {"StreamName": STREAM},
        {"StreamCreationTimestamp": dt.datetime.fromtimestamp(0, dt.UTC)},
        {"ExclusiveStartShardId": SHARD_0},
        {"ShardFilter": {"Type": "AT_LATEST"}},
    ],
)
def test_a_token_comes_alone(service: Service, beside: dict[str, Any]) -> None:
    """NextToken: "You can't specify this parameter if you specify the … parameter"; boto3's own
    paginator sends the stream's name with it and fails."""
    create(service, shards=3)
    token = service.call("ListShards", StreamName=STREAM, MaxResults=1)["NextToken"]
    with pytest.raises(Refused, match="InvalidArgumentException: NextToken and"):
        service.call("ListShards", NextToken=token, **beside)


def test_a_token_lives_300_seconds(service: Service) -> None:
    """NextToken: "Tokens expire after 300 seconds … ExpiredNextTokenException"."""
    create(service, shards=3)
    token = service.call("ListShards", StreamName=STREAM, MaxResults=1)["NextToken"]
    service.advance(299)
    service.call("ListShards", NextToken=token)
    service.advance(2)
    with pytest.raises(Refused, match="ExpiredNextTokenException"):
        service.call("ListShards", NextToken=token)


@pytest.mark.parametrize("token", ["x", "AAAA", "🔑" * 100])
def test_a_token_that_nobody_issued_is_invalid(service: Service, token: str) -> None:
    create(service)
    with pytest.raises(Refused, match="InvalidArgumentException: The NextToken is invalid"):
        service.call("ListShards", NextToken=token)


def test_a_token_of_another_operation_is_invalid(service: Service) -> None:
    made = create(service)
    for name in ("a", "b"):
        service.call("RegisterStreamConsumer", StreamARN=made, ConsumerName=name)
    page = service.call("ListStreamConsumers", StreamARN=made, MaxResults=1)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        service.call("ListShards", NextToken=page["NextToken"])


def test_a_listing_starts_after_a_shard(service: Service) -> None:
    """ExclusiveStartShardId."""
    create(service, shards=3)
    assert ids(service.call("ListShards", StreamName=STREAM, ExclusiveStartShardId=SHARD_0)) == [
        SHARD_1,
        SHARD_2,
    ]


def test_filters_by_time_and_position(service: Service) -> None:
    """ShardFilter: each of its types, on a shard that was split after an hour."""
    create(service)
    born = dt.datetime.fromtimestamp(service.now_ms / 1000, dt.UTC)
    service.advance(3600)
    split(service)
    service.advance(3600)

    def listed(kind: str, **more: Any) -> list[str]:
        answer = service.call("ListShards", StreamName=STREAM, ShardFilter={"Type": kind, **more})
        return ids(answer)

    hour = dt.timedelta(hours=1)
    everything = [SHARD_0, SHARD_1, SHARD_2]
    assert listed("AT_TRIM_HORIZON") == [SHARD_0]
    assert listed("FROM_TRIM_HORIZON") == everything
    assert listed("AT_LATEST") == [SHARD_1, SHARD_2]
    assert listed("AFTER_SHARD_ID", ShardId=SHARD_1) == [SHARD_2]
    assert listed("AT_TIMESTAMP", Timestamp=born + hour / 2) == [SHARD_0]
    assert listed("AT_TIMESTAMP", Timestamp=born + 1.5 * hour) == [SHARD_1, SHARD_2]
    assert listed("FROM_TIMESTAMP", Timestamp=born + hour / 2) == everything
    assert listed("FROM_TIMESTAMP", Timestamp=born + 1.5 * hour) == [SHARD_1, SHARD_2]
    assert listed("FROM_TIMESTAMP", Timestamp=born - 100 * hour) == everything


def test_a_filter_holds_on_every_page(service: Service) -> None:
    create(service, shards=2)
    split(service, SHARD_1, at=str(3 * 2**126))  # a closed shard on the second page
    first = service.call(
        "ListShards", StreamName=STREAM, ShardFilter={"Type": "AT_LATEST"}, MaxResults=1
    )
    rest = service.call("ListShards", NextToken=first["NextToken"])
    assert ids(first) + ids(rest) == [SHARD_0, SHARD_2, SHARD_3]


@pytest.mark.parametrize(
    "chosen",
    [
        {"Type": "AT_TIMESTAMP"},
        {"Type": "AFTER_SHARD_ID"},
        {"Type": "AT_LATEST", "ShardId": SHARD_0},
        {"Type": "AT_LATEST", "Timestamp": dt.datetime.fromtimestamp(0, dt.UTC)},
    ],
)
def test_a_filter_has_what_its_type_needs_and_nothing_else(
    service: Service, chosen: dict[str, Any]
) -> None:
    """ShardFilter: "This property can only be used if …"."""
    create(service)
    with pytest.raises(Refused, match="InvalidArgumentException: ShardFilter of type"):
        service.call("ListShards", StreamName=STREAM, ShardFilter=chosen)


def test_listing_is_not_a_read(service: Service) -> None:
    """ListShards: "1000 transactions per second per data stream", apart from GetRecords."""
    create(service)
    for _ in range(30):
        assert len(shards(service)) == 1


def test_a_token_does_not_outlive_its_stream(service: Service) -> None:
    create(service, shards=2)
    token = service.call("ListShards", StreamName=STREAM, MaxResults=1)["NextToken"]
    service.call("DeleteStream", StreamName=STREAM)
    create(service, shards=2)
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        service.call("ListShards", NextToken=token)
