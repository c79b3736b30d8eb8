"""Registered consumers and SubscribeToShard."""

from __future__ import annotations

from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.consumer import ShardAccess, StreamConsumer
from shardlane_lab.local_kinesis.faults import Fault, FaultKind, Site
from shardlane_lab.local_kinesis.limiter import limiter
from shardlane_lab.local_kinesis.operations.reading import existing_shard
from shardlane_lab.local_kinesis.operations.tagging import checked_tags
from shardlane_lab.local_kinesis.position import Position, start_index
from shardlane_lab.local_kinesis.shard import Shard
from shardlane_lab.local_kinesis.stream import Stream
from shardlane_lab.local_kinesis.subscription import Delivery, PushDelay, Subscription
from shardlane_lab.local_kinesis.token import Page, page

_LISTED_CONSUMERS = 100
_UNITS = {
    "SubscribeToShardEvent.Bytes": "Bytes",
    "SubscribeToShardEvent.MillisBehindLatest": "Milliseconds",
}


def register_stream_consumer(call: Call) -> dict[str, Any]:
    account, request, now_ms = call.account, call.request, call.now_ms
    stream = account.active_stream(request, now_ms)
    name = request["ConsumerName"]
    if name in stream.consumers:
        raise errors.in_use(
            f"Consumer {name} of stream {stream.name} under account {account.account} already "
            f"exists."
        )
    _check_consumer_limits(call, stream)
    consumer = StreamConsumer(
        name,
        f"{stream.arn}/consumer/{name}:{int(now_ms // 1000)}",
        now_ms,
        now_ms + account.delays.status_change_ms,
        checked_tags(call, {}, request.get("Tags", {})),
    )
    stream.consumers[name] = consumer
    shown = consumer.as_dict(now_ms)
    return {"Consumer": shown | {"ConsumerStatus": "CREATING"}}


def _check_consumer_limits(call: Call, stream: Stream) -> None:
    limits = call.account.limits
    if (
        limits.consumers_per_stream is not None
        and len(stream.consumers) >= limits.consumers_per_stream
    ):
        raise errors.limit_exceeded(
            f"This request would exceed the limit of {limits.consumers_per_stream} registered "
            f"consumers of stream {stream.name}."
        )
    creating = sum(
        consumer.status(call.now_ms) == "CREATING"
        for each in call.account.streams.values()
        for consumer in each.consumers.values()
    )
    if limits.creating_consumers is not None and creating >= limits.creating_consumers:
        raise errors.limit_exceeded(
            f"At most {limits.creating_consumers} consumers may be in status CREATING at once."
        )


def describe_stream_consumer(call: Call) -> dict[str, Any]:
    stream, consumer = call.account.consumer(call.request, call.now_ms)
    return {
        "ConsumerDescription": consumer.as_dict(call.now_ms) | {"StreamARN": stream.arn},
    }


def list_stream_consumers(call: Call) -> dict[str, Any]:
    account, request, now_ms = call.account, call.request, call.now_ms
    stream = account.stream(request, now_ms)
    after = ""
    if "NextToken" in request:
        token = page(request["NextToken"], "ListStreamConsumers")
        account.check_token_life(token, now_ms)
        after = token.after
    limit = request.get("MaxResults", _LISTED_CONSUMERS)
    names = [name for name in sorted(stream.consumers) if name > after]
    answer: dict[str, Any] = {
        "Consumers": [stream.consumers[name].as_dict(now_ms) for name in names[:limit]]
    }
    if len(names) > limit:
        token = Page("ListStreamConsumers", stream.generation, names[limit - 1], now_ms, {})
        answer["NextToken"] = token.text()
    return answer


def deregister_stream_consumer(call: Call) -> dict[str, Any]:
    stream, consumer = call.account.consumer(call.request, call.now_ms)
    gone = errors.not_found(f"Consumer {consumer.arn}, account {call.account.account} not found.")
    for access in consumer.access.values():
        if access.subscription is not None:
            access.subscription.fail(gone)
    stream.deregister(consumer, call.now_ms + call.account.delays.status_change_ms)
    stream.settle(call.now_ms)
    return {}


def subscribe_to_shard(call: Call) -> Subscription:
    """The subscription; an older one of the same consumer and shard ends.

    Raises ``ResourceInUseException`` within five seconds of a successful call,
    ``LimitExceededException`` over one call a second (SubscribeToShard, API Reference).
    """
    account, request, now_ms = call.account, call.request, call.now_ms
    stream, consumer = account.consumer({"ConsumerARN": request["ConsumerARN"]}, now_ms)
    names = {"StreamName": stream.name, "ConsumerName": consumer.name}
    try:
        shard = existing_shard(call, stream, request["ShardId"])
        access = _access(call, consumer, shard)
        _admit(call, consumer, shard, access)
        index = _start(call, stream, shard)
    except errors.ServiceError as error:
        account.emit("SubscribeToShard.Success", 0, now_ms, **names)
        if error.code in ("ResourceInUseException", "LimitExceededException"):
            account.emit("SubscribeToShard.RateExceeded", 1, now_ms, **names)
        raise
    account.emit("SubscribeToShard.Success", 1, now_ms, **names)
    return _opened(call, stream, consumer, shard, access, index)


def _access(call: Call, consumer: StreamConsumer, shard: Shard) -> ShardAccess:
    access = consumer.access.get(shard.number)
    if access is None:
        limits = call.account.limits
        access = ShardAccess(limiter(limits.subscribe_per_s), limiter(limits.push_bytes_per_s))
        consumer.access[shard.number] = access
    return access


def _admit(call: Call, consumer: StreamConsumer, shard: Shard, access: ShardAccess) -> None:
    now_ms, limits = call.now_ms, call.account.limits
    status = consumer.status(now_ms)
    if status != "ACTIVE":
        raise errors.in_use(f"Consumer {consumer.arn} is not ACTIVE, instead in state {status}.")
    wait_s = limits.resubscribe_s
    allowed = access.calls.allows(now_ms, 1)
    if allowed:
        access.calls.charge(now_ms, 1)
    if wait_s is not None and now_ms - access.subscribed_ms < wait_s * 1000:
        raise errors.in_use(
            f"Another active subscription exists for this consumer: {consumer.arn}, shard "
            f"{shard.shard_id}: it was made {int(now_ms - access.subscribed_ms)} ms ago and can "
            f"be taken over {wait_s:g} s after it was made."
        )
    if not allowed:
        raise errors.limit_exceeded(
            f"Rate exceeded for SubscribeToShard of consumer {consumer.arn} on {shard.shard_id}."
        )


def _start(call: Call, stream: Stream, shard: Shard) -> int:
    starting = call.request["StartingPosition"]
    position = Position(starting["Type"], starting.get("SequenceNumber"), starting.get("Timestamp"))
    return start_index(call, stream, shard, position, "SubscribeToShard")


def _opened(
    call: Call,
    stream: Stream,
    consumer: StreamConsumer,
    shard: Shard,
    access: ShardAccess,
    index: int,
) -> Subscription:
    now_ms = call.now_ms
    if access.subscription is not None:
        access.subscription.supersede()
    access.subscribed_ms = now_ms
    delivery = _delivery(call, stream, consumer, shard)
    access.subscription = Subscription(stream, shard, access, index, now_ms, delivery)
    return access.subscription


def _delivery(call: Call, stream: Stream, consumer: StreamConsumer, shard: Shard) -> Delivery:
    account = call.account
    account.serial += 1
    random = account.random(f"push/{consumer.arn}/{shard.shard_id}/{account.serial}")
    names = {"StreamName": stream.name, "ConsumerName": consumer.name}
    site = Site(call.operation, stream.name, shard.shard_id, consumer.name)

    def emit(name: str, value: float, at_ms: float) -> None:
        account.emit(name, value, at_ms, _UNITS.get(name, "Count"), **names)

    def draw(kinds: frozenset[FaultKind]) -> Fault | None:
        return account.faults.draw(kinds, site) if account.faults.rules else None

    return Delivery(
        account.limits.subscription_life_s,
        PushDelay(account.delays, random, call.caller),
        emit if account.observed else None,
        draw,
    )
