"""Faults by request, as boto3 and an in-process client see them."""

from __future__ import annotations

import gc

import pytest
from botocore.parsers import ResponseParserError

from shardlane_lab.local_kinesis.faults import Fault, FaultKind, FaultPlan
from tests.contract.conftest import MakeService
from tests.contract.service import (
    SHARD_0,
    STREAM,
    EventFeed,
    Refused,
    Service,
    create,
    data,
    iterator,
    ms,
    put,
    read,
    received,
    register,
    subscribe,
)
from tests.contract.through_boto3 import ServiceThroughBoto3


def broken_feed(make_service: MakeService, fault: Fault) -> tuple[Service, EventFeed]:
    """A subscription of which the second event has the fault."""
    service = make_service()
    create(service)
    consumer = register(service)
    service.model.faults = FaultPlan((fault,))
    feed = subscribe(service, consumer)
    put(service, data=b"1")
    service.until(lambda: received(feed) == [b"1"])
    put(service, data=b"2")
    return service, feed


@pytest.mark.parametrize(
    ("kind", "seen", "in_boto3", "in_process"),
    [
        (FaultKind.EXCEPTION_FRAME, [b"1"], "InternalFailureException", "InternalFailureException"),
        (FaultKind.CUT_BETWEEN_FRAMES, [b"1", b"2"], "ProtocolError", "ConnectionResetError"),
        (FaultKind.CUT_INSIDE_FRAME, [b"1"], "ProtocolError", "ConnectionResetError"),
        (FaultKind.CORRUPT_CRC, [b"1"], "ChecksumMismatch", "ConnectionError"),
        (FaultKind.TRUNCATED_FRAME, [b"1"], None, None),
    ],
)
@pytest.mark.parametrize("reset", [True, False])
def test_a_subscription_breaks(
    make_service: MakeService,
    kind: FaultKind,
    seen: list[bytes],
    in_boto3: str | None,
    in_process: str | None,
    reset: bool,
) -> None:
    """A truncated frame followed by a clean end is no error at all in boto3: the event is lost."""
    service, feed = broken_feed(make_service, Fault(kind=kind, after=1, times=1, reset=reset))
    service.until(lambda: feed.ended)
    assert received(feed) == seen
    code = None if feed.error is None else feed.error.code
    assert code == (in_boto3 if isinstance(service, ServiceThroughBoto3) else in_process)


def test_a_broken_subscription_can_be_taken_up_again(make_service: MakeService) -> None:
    """From the last record that came, nothing is lost."""
    fault = Fault(kind=FaultKind.CUT_INSIDE_FRAME, after=1, times=1)
    service, feed = broken_feed(make_service, fault)
    service.until(lambda: feed.ended)
    last = feed.events[-1]["ContinuationSequenceNumber"]
    service.advance(5)
    consumers = service.call(
        "ListStreamConsumers",
        StreamARN="arn:aws:kinesis:us-east-1:000000000000:stream/orders",
    )["Consumers"]
    again = subscribe(
        service, consumers[0]["ConsumerARN"], "AFTER_SEQUENCE_NUMBER", SequenceNumber=last
    )
    service.until(lambda: received(again) == [b"2"])


def test_a_silent_subscription_says_nothing_not_even_its_end(make_service: MakeService) -> None:
    service, feed = broken_feed(make_service, Fault(kind=FaultKind.SILENCE, after=1))
    for _ in range(4):
        service.advance(100)
        service.settle()
    assert received(feed) == [b"1"]
    assert not feed.ended


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # botocore forgets the connection it refuses
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_may_come_first(make_service: MakeService) -> None:
    """Where ``initial-response`` belongs: botocore cannot parse that."""
    service = make_service()
    create(service)
    consumer = register(service)
    service.model.faults = FaultPlan((Fault(kind=FaultKind.EXCEPTION_FIRST),))
    if isinstance(service, ServiceThroughBoto3):
        with pytest.raises(ResponseParserError, match="initial-response"):
            subscribe(service, consumer)
        gc.collect()
        return
    feed = subscribe(service, consumer)
    service.until(lambda: feed.ended)
    assert feed.error is not None
    assert feed.error.code == "InternalFailureException"


def test_throttling_comes_in_bursts(make_service: MakeService) -> None:
    throttle = Fault(kind=FaultKind.THROTTLE, operation="GetRecords", after=1, times=3, burst=3)
    service = make_service(faults=FaultPlan((throttle,)))
    create(service)
    position, outcomes = iterator(service), []
    for _ in range(6):
        try:
            read(service, position)
            outcomes.append("ok")
        except Refused as error:
            outcomes.append(error.code)
        service.advance(1)
    throttled = "ProvisionedThroughputExceededException"
    assert outcomes == ["ok", throttled, throttled, throttled, "ok", "ok"]


def test_entries_of_a_batch_are_throttled_one_by_one(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.THROTTLE, operation="PutRecords", probability=0.5)
    service = make_service(faults=FaultPlan((fault,), seed=3))
    create(service)
    entries = [{"Data": b"%d" % number, "PartitionKey": "k"} for number in range(100)]
    answer = service.call("PutRecords", StreamName=STREAM, Records=entries)
    failed = [each for each in answer["Records"] if "ErrorCode" in each]
    assert 30 < answer["FailedRecordCount"] == len(failed) < 70
    assert len(read(service, iterator(service))["Records"]) == 100 - len(failed)


def test_a_call_fails_inside_the_service(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.INTERNAL_ERROR, operation="PutRecord", times=1)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    with pytest.raises(Refused, match="InternalFailureException"):
        put(service)
    put(service)


def test_an_iterator_expires_early(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.EXPIRED_ITERATOR, times=1, shard=SHARD_0)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    position = iterator(service)
    with pytest.raises(Refused, match="ExpiredIteratorException"):
        read(service, position)
    read(service, position)


def test_polled_records_come_again(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.DUPLICATE, records=2, times=1)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    for number in range(3):
        put(service, data=b"%d" % number)
    first = read(service, iterator(service))
    second = read(service, first["NextShardIterator"])
    third = read(service, second["NextShardIterator"])
    assert data(first["Records"]) == [b"0", b"1", b"2"]
    assert data(second["Records"]) == [b"1", b"2"]
    assert data(third["Records"]) == []


def test_pushed_records_come_again(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.DUPLICATE, consumer="efo", records=2, times=1)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    for number in range(3):
        put(service, data=b"%d" % number)
    feed = subscribe(service, register(service))
    service.until(lambda: received(feed) == [b"0", b"1", b"2", b"1", b"2"])


def test_the_clock_that_stamps_arrivals_is_off(make_service: MakeService) -> None:
    fault = Fault(kind=FaultKind.CLOCK_SKEW, ms=-250, after=1, times=1)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    for _ in range(3):
        put(service)
    records = read(service, iterator(service))["Records"]
    stamps = [ms(record["ApproximateArrivalTimestamp"]) for record in records]
    assert stamps[1] - stamps[0] == pytest.approx(-250, abs=1)  # back in time
    assert stamps[2] - stamps[0] == pytest.approx(0, abs=1)


def test_an_answer_is_lost_after_the_call_was_carried_out(make_service: MakeService) -> None:
    """A producer that sends again writes the record twice."""
    fault = Fault(kind=FaultKind.LOST_ANSWER, operation="PutRecord", times=1)
    service = make_service(faults=FaultPlan((fault,)))
    create(service)
    with pytest.raises(Exception, match=r"[Cc]onnection"):
        put(service, data=b"1")
    put(service, data=b"1")
    assert data(read(service, iterator(service))["Records"]) == [b"1", b"1"]


def test_a_rule_holds_only_where_it_says(make_service: MakeService) -> None:
    rule = Fault(kind=FaultKind.INTERNAL_ERROR, stream="other", operation="PutRecord")
    service = make_service(faults=FaultPlan((rule,)))
    create(service)
    other = create(service, name="other")
    put(service)
    with pytest.raises(Refused, match="InternalFailureException"):
        service.call("PutRecord", StreamARN=other, Data=b"x", PartitionKey="k")


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("GetShardIterator", "ProvisionedThroughputExceededException"),
        ("SubscribeToShard", "LimitExceededException"),
        ("ListShards", "LimitExceededException"),
    ],
)
def test_each_operation_is_throttled_with_its_own_error(
    make_service: MakeService, operation: str, code: str
) -> None:
    service = make_service()
    create(service)
    consumer = register(service)
    rule = Fault(kind=FaultKind.THROTTLE, operation=operation, times=1)
    service.model.faults = FaultPlan((rule,))

    def call() -> None:
        if operation == "SubscribeToShard":
            subscribe(service, consumer)
        elif operation == "ListShards":
            service.call("ListShards", StreamName=STREAM)
        else:
            iterator(service)

    with pytest.raises(Refused, match=code):
        call()
    call()
