"""Every limit, switched: a small one refuses what ``None`` lets pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.limits import Limits
from tests.contract.conftest import MakeService
from tests.contract.service import (
    SHARD_0,
    STREAM,
    Refused,
    Service,
    create,
    iterator,
    put,
    read,
    received,
    register,
    subscribe,
)

KIB = 1024


def puts(service: Service) -> None:
    create(service)
    for _ in range(3):
        put(service, data=b"x" * 600)


def batch(service: Service) -> None:
    create(service)
    records = [{"Data": b"x" * 600, "PartitionKey": "k"}] * 3
    answer = service.call("PutRecords", StreamName=STREAM, Records=records)
    for result in answer["Records"]:
        if "ErrorCode" in result:
            raise Refused(result["ErrorCode"], result["ErrorMessage"])


def reads(service: Service) -> None:
    puts(service)
    position = iterator(service)
    for _ in range(3):
        read(service, position)


def iterators(service: Service) -> None:
    create(service)
    for _ in range(3):
        iterator(service)


def listings(service: Service) -> None:
    create(service)
    for _ in range(3):
        service.call("ListShards", StreamName=STREAM)


def control_calls(service: Service) -> None:
    for _ in range(3):
        service.call("ListStreams")


def old_iterator(service: Service) -> None:
    create(service)
    position = iterator(service)
    service.advance(11)
    read(service, position)


def old_token(service: Service) -> None:
    create(service, shards=2)
    token = service.call("ListShards", StreamName=STREAM, MaxResults=1)["NextToken"]
    service.advance(11)
    service.call("ListShards", NextToken=token)


def subscriptions(service: Service) -> None:
    create(service)
    consumer = register(service)
    for _ in range(3):
        subscribe(service, consumer)


def five_minutes(service: Service) -> None:
    """Its end is no refusal; it is told as one here."""
    create(service)
    feed = subscribe(service, register(service))
    service.advance(11)
    put(service, data=b"late")
    service.until(lambda: feed.ended or received(feed) == [b"late"])
    if feed.ended:
        raise Refused("Ended", "the subscription ended")


def pushes(service: Service) -> None:
    """What is held back is no refusal; it is told as one here."""
    create(service)
    feed = subscribe(service, register(service))
    put(service, data=b"x" * 600)
    service.until(lambda: len(received(feed)) == 1)
    put(service, data=b"x" * 600)
    service.until(lambda: len(received(feed)) == 2)
    put(service, data=b"x" * 600)
    for _ in range(15):  # of a tenth of a second each, where it has to come over a socket
        service.settle()
        if len(received(feed)) == 3:
            return
    raise Refused("HeldBack", "the third record waits")


def consumers(service: Service) -> None:
    create(service)
    service.advance(61)  # it is ACTIVE by then, also where that takes a minute
    for number in range(3):
        register(service, f"c{number}")


def streams(service: Service) -> None:
    for number in range(3):
        service.call("CreateStream", StreamName=f"s{number}", ShardCount=1)


def scalings(service: Service) -> None:
    create(service)
    for count in (2, 1, 2):
        service.call(
            "UpdateShardCount",
            StreamName=STREAM,
            TargetShardCount=count,
            ScalingType="UNIFORM_SCALING",
        )


def tags(service: Service) -> None:
    create(service)
    for number in range(3):
        service.call("AddTagsToStream", StreamName=STREAM, Tags={f"t{number}": "x"})


@dataclass(frozen=True)
class Case:
    limit: str
    small: Any
    """Refuses the scene's third step, or its late one."""
    scene: Callable[[Service], None]
    code: str
    beside: dict[str, Any] = field(default_factory=dict)
    """Other limits that would be in the way."""
    delays: Delays | None = None


THROUGHPUT = "ProvisionedThroughputExceededException"
LIMIT = "LimitExceededException"
SLOW = Delays(status_change_ms=60_000)
CASES = [
    Case("get_records_per_s", 2, reads, THROUGHPUT, {"get_records_burst": 2}),
    Case("read_bytes_per_s", 2 * KIB, reads, THROUGHPUT),
    Case("write_bytes_per_s", KIB, puts, THROUGHPUT),
    Case("write_records_per_s", 2, puts, THROUGHPUT),
    Case("get_shard_iterator_per_s", 2, iterators, THROUGHPUT),
    Case("list_shards_per_s", 2, listings, LIMIT),
    Case("subscribe_per_s", 2, subscriptions, LIMIT, {"resubscribe_s": None}),
    Case("push_bytes_per_s", KIB, pushes, "HeldBack"),
    Case("calls_per_s", {"ListStreams": 2}, control_calls, LIMIT),
    Case("request_bytes", KIB, batch, "InvalidArgumentException"),
    Case("iterator_life_s", 10, old_iterator, "ExpiredIteratorException"),
    Case("token_life_s", 10, old_token, "ExpiredNextTokenException"),
    Case("subscription_life_s", 10, five_minutes, "Ended"),
    Case("resubscribe_s", 5, subscriptions, "ResourceInUseException", {"subscribe_per_s": None}),
    Case("consumers_per_stream", 2, consumers, LIMIT),
    Case("creating_consumers", 2, consumers, LIMIT, delays=SLOW),
    Case("creating_streams", 2, streams, LIMIT, delays=SLOW),
    Case("shards_per_account", 2, streams, LIMIT),
    Case("scalings_per_day", 2, scalings, LIMIT),
    Case("tags_per_resource", 2, tags, "InvalidArgumentException"),
    Case("memory_bytes", KIB, puts, "LocalKinesisMemoryFull"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.limit)
def test_a_limit_refuses_and_can_be_switched_off(make_service: MakeService, case: Case) -> None:
    """ "Quotas and limits", Developer Guide; the operations' pages, API Reference."""

    def service(value: Any) -> Service:
        limits = Limits(**{**case.beside, case.limit: value})
        return make_service(limits=limits, delays=case.delays)

    with pytest.raises(Refused) as refused:
        case.scene(service(case.small))
    assert refused.value.code == case.code
    case.scene(service(None))


def test_every_limit_that_can_be_switched_off_is_tried_here() -> None:
    switchable = {each.name for each in fields(Limits) if "None" in str(each.type)}
    assert {case.limit for case in CASES} == switchable


def test_sizes_of_an_answer_have_a_bound_of_their_own(make_service: MakeService) -> None:
    """Not switched off but set: how much one GetRecords answers."""
    service = make_service(limits=Limits(records_per_read=2))
    puts(service)
    assert len(read(service, iterator(service, shard=SHARD_0))["Records"]) == 2
    service = make_service(limits=Limits(bytes_per_read=700))
    puts(service)
    assert len(read(service, iterator(service))["Records"]) == 1
