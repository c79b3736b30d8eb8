"""Registered consumers and SubscribeToShard. API Reference pages are named per test."""

from __future__ import annotations

import datetime as dt

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limits import Limits
from tests.contract.conftest import MakeService
from tests.contract.service import (
    SHARD_0,
    SHARD_1,
    STREAM,
    Refused,
    Service,
    arn,
    create,
    iterator,
    ms,
    put,
    read,
    received,
    register,
    subscribe,
)
from tests.contract.test_kinesis_resharding import SHARD_2, split

MIB = 1024 * 1024


def consumer_status(service: Service, consumer: str) -> str:
    described = service.call("DescribeStreamConsumer", ConsumerARN=consumer)
    return str(described["ConsumerDescription"]["ConsumerStatus"])


# --- consumers ----------------------------------------------------------------------------------


def test_the_arn_of_a_consumer_ends_with_its_name_and_creation_second(service: Service) -> None:
    """Consumer: ConsumerARN."""
    made = create(service)
    consumer = register(service)
    described = service.call("DescribeStreamConsumer", ConsumerARN=consumer)["ConsumerDescription"]
    created_s = int(ms(described["ConsumerCreationTimestamp"]) // 1000)
    assert consumer == f"{made}/consumer/efo:{created_s}"
    assert described["StreamARN"] == made


def test_a_consumer_is_creating_and_then_active(make_service: MakeService) -> None:
    """RegisterStreamConsumer: status CREATING first; SubscribeToShard needs ACTIVE
    (ResourceInUseException: "the resource must be in the ACTIVE state")."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(1)
    consumer = register(service)
    assert consumer_status(service, consumer) == "CREATING"
    with pytest.raises(Refused, match=r"ResourceInUseException.*not ACTIVE"):
        subscribe(service, consumer)
    service.advance(1)
    assert consumer_status(service, consumer) == "ACTIVE"
    service.advance(1)
    subscribe(service, consumer)


def test_registering_answers_creating(service: Service) -> None:
    create(service)
    made = service.call("RegisterStreamConsumer", StreamARN=arn(service), ConsumerName="efo")
    assert made["Consumer"]["ConsumerStatus"] == "CREATING"


def test_a_consumers_name_is_unique_in_its_stream(service: Service) -> None:
    """RegisterStreamConsumer: "For a given data stream, each consumer must have a unique name"."""
    create(service)
    create(service, name="other")
    register(service)
    with pytest.raises(Refused, match=r"ResourceInUseException.*efo"):
        register(service)
    service.call("RegisterStreamConsumer", StreamARN=arn(service, "other"), ConsumerName="efo")


def test_a_stream_has_up_to_20_consumers(service: Service) -> None:
    """RegisterStreamConsumer: "Provisioned streams, you can register up to 20 consumers"."""
    create(service)
    for number in range(20):
        register(service, f"c{number}")
        service.advance(0.21)
    with pytest.raises(Refused, match=r"LimitExceededException.*20"):
        register(service, "c20")
    service.call("DeregisterStreamConsumer", StreamARN=arn(service), ConsumerName="c7")
    register(service, "c20")


def test_at_most_5_consumers_are_creating(make_service: MakeService) -> None:
    """RegisterStreamConsumer: "Registering a 6th consumer while there are 5 in a CREATING status
    results in a LimitExceededException"."""
    service = make_service(delays=Delays(status_change_ms=5000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(5)
    for number in range(5):
        register(service, f"c{number}")
    service.advance(1)
    with pytest.raises(Refused, match=r"LimitExceededException.*CREATING"):
        register(service, "c5")
    service.advance(4)
    register(service, "c5")


def test_registering_has_a_rate(service: Service) -> None:
    """RegisterStreamConsumer: "a limit of five transactions per second per account"."""
    create(service)
    for number in range(5):
        register(service, f"c{number}")
    with pytest.raises(Refused, match=r"LimitExceededException.*Rate exceeded"):
        register(service, "c5")


def test_consumers_are_listed_in_pages(service: Service) -> None:
    """ListStreamConsumers: MaxResults, NextToken."""
    made = create(service)
    for name in ("b", "c", "a"):
        register(service, name)
    first = service.call("ListStreamConsumers", StreamARN=made, MaxResults=2)
    assert [each["ConsumerName"] for each in first["Consumers"]] == ["a", "b"]
    rest = service.call("ListStreamConsumers", StreamARN=made, NextToken=first["NextToken"])
    assert [each["ConsumerName"] for each in rest["Consumers"]] == ["c"]
    assert "NextToken" not in rest


def test_a_consumer_is_found_by_its_arn_or_by_stream_and_name(service: Service) -> None:
    """DescribeStreamConsumer: ConsumerARN, or StreamARN and ConsumerName."""
    made = create(service)
    consumer = register(service)
    by_name = service.call("DescribeStreamConsumer", StreamARN=made, ConsumerName="efo")
    assert by_name["ConsumerDescription"]["ConsumerARN"] == consumer
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        service.call("DescribeStreamConsumer", StreamARN=made, ConsumerName="nobody")
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        service.call("DescribeStreamConsumer", ConsumerARN=consumer + "1")
    with pytest.raises(Refused, match="InvalidArgumentException"):
        service.call("DescribeStreamConsumer", ConsumerName="efo")


def test_deregistering_ends_its_subscriptions(service: Service) -> None:
    """DeregisterStreamConsumer; ResourceNotFoundException in SubscribeToShardEventStream."""
    create(service)
    consumer = register(service)
    feed = subscribe(service, consumer)
    service.call("DeregisterStreamConsumer", ConsumerARN=consumer)
    service.until(lambda: feed.ended)
    assert feed.error is not None
    assert feed.error.code == "ResourceNotFoundException"
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        subscribe(service, consumer)


def test_deleting_the_stream_ends_its_subscriptions(service: Service) -> None:
    create(service)
    feed = subscribe(service, register(service))
    service.call("DeleteStream", StreamName=STREAM, EnforceConsumerDeletion=True)
    service.until(lambda: feed.ended)
    assert feed.error is not None
    assert feed.error.code == "ResourceNotFoundException"


# --- subscriptions ------------------------------------------------------------------------------


def test_records_are_pushed_in_order_as_they_come(service: Service) -> None:
    """SubscribeToShard: "Kinesis Data Streams pushes data records from the shard to the consumer
    using this connection"."""
    create(service)
    feed = subscribe(service, register(service))
    for number in range(5):
        put(service, data=b"%d" % number)
        service.until(lambda number=number: len(received(feed)) == number + 1)  # type: ignore[misc]
    assert received(feed) == [b"0", b"1", b"2", b"3", b"4"]
    assert all(event["MillisBehindLatest"] == 0 for event in feed.events)


def test_subscriptions_start_at_each_of_the_five_positions(service: Service) -> None:
    """StartingPosition: Type, SequenceNumber, Timestamp."""
    create(service)
    consumers = [register(service, f"c{number}") for number in range(5)]
    numbers = []
    for number in range(3):
        numbers.append(put(service, data=b"%d" % number)["SequenceNumber"])
        service.advance(1)
    middle = read(service, iterator(service))["Records"][1]["ApproximateArrivalTimestamp"]
    at = dt.datetime.fromtimestamp(ms(middle) / 1000, dt.UTC)
    feeds = [
        subscribe(service, consumers[0], "TRIM_HORIZON"),
        subscribe(service, consumers[1], "LATEST"),
        subscribe(service, consumers[2], "AT_SEQUENCE_NUMBER", SequenceNumber=numbers[1]),
        subscribe(service, consumers[3], "AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1]),
        subscribe(service, consumers[4], "AT_TIMESTAMP", Timestamp=at),
    ]
    put(service, data=b"3")
    expected = [
        [b"0", b"1", b"2", b"3"],
        [b"3"],
        [b"1", b"2", b"3"],
        [b"2", b"3"],
        [b"1", b"2", b"3"],
    ]
    service.until(lambda: [received(feed) for feed in feeds] == expected)


def test_a_wrong_starting_position_is_refused(service: Service) -> None:
    """SubscribeToShard, errors: InvalidArgumentException."""
    create(service)
    consumer = register(service)
    for kind, more in (
        ("AT_SEQUENCE_NUMBER", {}),
        ("AT_TIMESTAMP", {}),
        ("AFTER_SEQUENCE_NUMBER", {"SequenceNumber": "1"}),
    ):
        with pytest.raises(Refused, match="InvalidArgumentException"):
            subscribe(service, consumer, kind, **more)
        service.advance(1.01)


def test_an_unknown_shard_or_consumer_is_refused(service: Service) -> None:
    """SubscribeToShard, errors: ResourceNotFoundException."""
    create(service)
    consumer = register(service)
    with pytest.raises(Refused, match=r"ResourceNotFoundException.*Shard shardId-000000000001"):
        subscribe(service, consumer, shard=SHARD_1)
    with pytest.raises(Refused, match=r"ResourceNotFoundException.*Consumer"):
        subscribe(service, consumer.replace("efo", "other"))


def test_a_subscription_lasts_5_minutes_and_ends_cleanly(service: Service) -> None:
    """SubscribeToShard: "the connection … remains open for up to 5 minutes"."""
    create(service)
    consumer = register(service)
    feed = subscribe(service, consumer)
    service.advance(299)
    service.settle()
    assert not feed.ended
    service.advance(1)
    service.until(lambda: feed.ended)
    assert feed.error is None
    subscribe(service, consumer)


def test_a_second_call_within_5_seconds_is_refused(service: Service) -> None:
    """SubscribeToShard: "within 5 seconds of a successful call, you'll get a
    ResourceInUseException"; also if the first subscription has ended."""
    create(service)
    consumer = register(service)
    feed = subscribe(service, consumer)
    service.advance(4.9)
    with pytest.raises(Refused, match=r"ResourceInUseException.*Another active subscription"):
        subscribe(service, consumer)
    put(service, data=b"1")
    service.until(lambda: received(feed) == [b"1"])  # the first one goes on
    assert not feed.ended


def test_a_call_after_5_seconds_takes_over(service: Service) -> None:
    """SubscribeToShard: "5 seconds or more after a successful call, the second call takes over
    the subscription and the previous connection expires"."""
    create(service)
    consumer = register(service)
    first = subscribe(service, consumer, "LATEST")
    service.advance(5)
    second = subscribe(service, consumer, "LATEST")
    service.until(lambda: first.ended)
    assert first.error is None
    put(service, data=b"1")
    service.until(lambda: received(second) == [b"1"])
    assert received(first) == []


def test_a_refused_call_does_not_postpone_the_takeover(service: Service) -> None:
    """A client that retries every second gets in at the fifth."""
    create(service)
    consumer = register(service)
    subscribe(service, consumer)
    refused = 0
    for _ in range(4):
        service.advance(1)
        try:
            subscribe(service, consumer)
        except Refused:
            refused += 1
    service.advance(1)
    subscribe(service, consumer)
    assert refused == 4


def test_subscribing_is_called_once_a_second_per_consumer_and_shard(service: Service) -> None:
    """SubscribeToShard: "one call per second per registered stream consumer per shard"
    (LimitExceededException)."""
    create(service)
    consumer = register(service)
    with pytest.raises(Refused, match="InvalidArgumentException"):
        subscribe(service, consumer, "AT_TIMESTAMP")
    with pytest.raises(Refused, match="LimitExceededException"):
        subscribe(service, consumer)
    service.advance(1)
    subscribe(service, consumer)


def test_consumers_and_shards_do_not_disturb_each_other(service: Service) -> None:
    """SubscribeToShard: the limits are per registered consumer and per shard."""
    create(service, shards=2)
    one, two = register(service, "one"), register(service, "two")
    feeds = [
        subscribe(service, consumer, shard=shard)
        for consumer in (one, two)
        for shard in (SHARD_0, SHARD_1)
    ]
    put(service, data=b"low", ExplicitHashKey="0")
    put(service, data=b"high", ExplicitHashKey=str(2**128 - 1))
    service.until(lambda: [received(feed) for feed in feeds] == [[b"low"], [b"high"]] * 2)


def test_pushes_are_independent_of_polling(service: Service) -> None:
    """GetRecords' five calls a second are not used up by subscriptions, nor the other way."""
    create(service)
    feed = subscribe(service, register(service))
    position = iterator(service)
    for _ in range(5):
        read(service, position)
    with pytest.raises(Refused, match="ProvisionedThroughputExceededException"):
        read(service, position)
    put(service, data=b"1")
    service.until(lambda: received(feed) == [b"1"])


def test_an_idle_subscription_gets_empty_events(service: Service) -> None:
    """Observed: an event without records every few seconds; clients give up after ten."""
    create(service)
    feed = subscribe(service, register(service))
    service.advance(9.9)
    service.until(lambda: len(feed.events) >= 1)
    event = feed.events[0]
    assert event["Records"] == []
    assert event["MillisBehindLatest"] == 0
    assert len(event["ContinuationSequenceNumber"]) == 56


def test_a_consumer_gets_2_mebibytes_a_second_of_a_shard(make_service: MakeService) -> None:
    """SubscribeToShard: "up to 2 MiB per second for every shard you subscribe to"."""
    service = make_service(limits=Limits(write_bytes_per_s=None))
    create(service)
    for _ in range(16):
        put(service, data=b"x" * (MIB - 1))
    feed = subscribe(service, register(service))
    ran_s = 0.0
    service.until(lambda: len(received(feed)) >= 2)
    while len(received(feed)) < 16:
        service.advance(0.25)
        ran_s += 0.25
        service.settle()
    assert ran_s == pytest.approx((16 - 2) / 2, abs=0.6)


def test_lag_is_the_age_of_the_next_record(make_service: MakeService) -> None:
    """SubscribeToShardEvent: MillisBehindLatest."""
    service = make_service(limits=Limits(write_bytes_per_s=None))
    create(service)
    for _ in range(4):
        put(service, data=b"x" * (MIB - 1))
    service.advance(7)
    feed = subscribe(service, register(service))
    service.until(lambda: len(feed.events) >= 1)
    assert feed.events[0]["MillisBehindLatest"] == pytest.approx(7000, abs=2)
    while len(received(feed)) < 4:
        service.advance(0.5)
        service.settle()
    assert feed.events[-1]["MillisBehindLatest"] == 0


# --- continuation and the end of a shard --------------------------------------------------------


@pytest.mark.parametrize("kind", ["AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER"])
def test_a_subscription_goes_on_from_the_continuation(service: Service, kind: str) -> None:
    """SubscribeToShardEvent: ContinuationSequenceNumber, "Use this as SequenceNumber in the next
    call to SubscribeToShard". It is the last record's number where there is one: AT it, that
    record comes again."""
    create(service)
    consumer = register(service)
    put(service, data=b"1")
    first = subscribe(service, consumer)
    service.until(lambda: received(first) == [b"1"])
    number = first.events[-1]["ContinuationSequenceNumber"]
    assert number == first.events[-1]["Records"][-1]["SequenceNumber"]
    service.advance(5)
    second = subscribe(service, consumer, kind, SequenceNumber=number)
    put(service, data=b"2")
    expected = [b"2"] if kind == "AFTER_SEQUENCE_NUMBER" else [b"1", b"2"]
    service.until(lambda: received(second) == expected)


@pytest.mark.parametrize("kind", ["AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER"])
def test_the_continuation_of_an_empty_event_is_a_position(service: Service, kind: str) -> None:
    """ "it captures your shard progress even when no data is written to the shard": nothing is
    lost and nothing comes twice, also on a shard without any record."""
    create(service)
    consumer = register(service)
    first = subscribe(service, consumer, "LATEST")
    service.advance(5)
    service.until(lambda: len(first.events) == 1)
    number = first.events[0]["ContinuationSequenceNumber"]
    put(service, data=b"1")
    second = subscribe(service, consumer, kind, SequenceNumber=number)
    service.until(lambda: received(second) == [b"1"])


def test_the_end_of_a_shard_names_its_children_and_ends_the_subscription(
    service: Service,
) -> None:
    """SubscribeToShardEvent: ChildShards, "returned only at the end of the current shard"."""
    create(service)
    put(service, data=b"1")
    feed = subscribe(service, register(service))
    service.until(lambda: received(feed) == [b"1"])
    split(service)
    service.until(lambda: feed.ended)
    assert feed.error is None
    last = feed.events[-1]
    assert [child["ShardId"] for child in last["ChildShards"]] == [SHARD_1, SHARD_2]
    assert last["ChildShards"][0]["ParentShards"] == [SHARD_0]
    assert last.get("ContinuationSequenceNumber") is None
    assert all("ChildShards" not in event for event in feed.events[:-1])


def test_a_closed_shard_is_pushed_to_its_end(service: Service) -> None:
    create(service)
    for number in range(3):
        put(service, data=b"%d" % number)
    split(service)
    feed = subscribe(service, register(service))
    service.until(lambda: feed.ended)
    assert received(feed) == [b"0", b"1", b"2"]
    assert "ChildShards" in feed.events[-1]
    assert feed.events[-1]["Records"] == []
    assert all(event["ContinuationSequenceNumber"] for event in feed.events[:-1])


def test_a_shard_that_closes_later_still_ends_its_subscription(make_service: MakeService) -> None:
    """The split takes effect when the stream has been UPDATING for a while: nobody calls then."""
    service = make_service(delays=Delays(status_change_ms=1000))
    service.call("CreateStream", StreamName=STREAM, ShardCount=1)
    service.advance(1)
    consumer = register(service)
    service.advance(1)
    feed = subscribe(service, consumer)
    split(service)
    service.settle()
    assert not feed.ended
    service.advance(1.01)
    service.until(lambda: feed.ended)
    assert len(feed.events[-1]["ChildShards"]) == 2


def test_a_consumer_is_deleting_and_then_gone(make_service: MakeService) -> None:
    """DeregisterStreamConsumer; ConsumerStatus DELETING."""
    service = make_service(delays=Delays(status_change_ms=2000))
    create(service)
    service.advance(3)
    consumer = register(service)
    service.advance(3)
    service.call("DeregisterStreamConsumer", ConsumerARN=consumer)
    described = service.call("DescribeStreamConsumer", ConsumerARN=consumer)
    assert described["ConsumerDescription"]["ConsumerStatus"] == "DELETING"
    with pytest.raises(Refused, match="ResourceInUseException"):
        subscribe(service, consumer)
    service.advance(3)
    with pytest.raises(Refused, match="ResourceNotFoundException"):
        service.call("DescribeStreamConsumer", ConsumerARN=consumer)


def test_what_retention_removes_before_it_is_pushed_is_gone(make_service: MakeService) -> None:
    """A record older than the retention period is not accessible to anybody."""
    day_ms = 24 * 3_600_000
    limits = Limits(subscription_life_s=None)
    service = make_service(limits=limits, delays=Delays(push_base_ms=day_ms + 60_000))
    create(service)
    feed = subscribe(service, register(service))
    put(service, data=b"old")
    service.advance(24 * 3600 + 30)
    service.until(lambda: len(feed.events) > 0)  # empty ones: it is alive
    service.advance(60)
    service.settle()
    assert received(feed) == []
