"""The local Kinesis as one pure object: a request and the time in, an answer out.

No clock, no I/O and no chance but a seeded one. The shells around it (``client``, ``http``) wait,
listen and push.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shardlane_lab.local_kinesis import errors
from shardlane_lab.local_kinesis.account import Account
from shardlane_lab.local_kinesis.call import Call
from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.delays import Delays
from shardlane_lab.local_kinesis.faults import FaultKind, FaultPlan
from shardlane_lab.local_kinesis.limits import Limits
from shardlane_lab.local_kinesis.operations import (
    fan_out,
    listing,
    reading,
    resharding,
    settings,
    stream_life,
    tagging,
    writing,
)
from shardlane_lab.local_kinesis.shape import Encoding, checked, service_operations
from shardlane_lab.local_kinesis.site import site_of
from shardlane_lab.local_kinesis.subscription import Subscription
from shardlane_lab.metric import Observer

_OPERATIONS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "AddTagsToStream": tagging.add_tags_to_stream,
    "CreateStream": stream_life.create_stream,
    "DecreaseStreamRetentionPeriod": settings.decrease_retention,
    "DeleteResourcePolicy": settings.delete_policy,
    "DeleteStream": stream_life.delete_stream,
    "DeregisterStreamConsumer": fan_out.deregister_stream_consumer,
    "DescribeLimits": stream_life.describe_limits,
    "DescribeStream": stream_life.describe_stream,
    "DescribeStreamConsumer": fan_out.describe_stream_consumer,
    "DescribeStreamSummary": stream_life.describe_stream_summary,
    "DisableEnhancedMonitoring": settings.disable_monitoring,
    "EnableEnhancedMonitoring": settings.enable_monitoring,
    "GetRecords": reading.get_records,
    "GetResourcePolicy": settings.get_policy,
    "GetShardIterator": reading.get_shard_iterator,
    "IncreaseStreamRetentionPeriod": settings.increase_retention,
    "ListShards": listing.list_shards,
    "ListStreamConsumers": fan_out.list_stream_consumers,
    "ListStreams": stream_life.list_streams,
    "ListTagsForResource": tagging.list_tags_for_resource,
    "ListTagsForStream": tagging.list_tags_for_stream,
    "MergeShards": resharding.merge_shards,
    "PutRecord": writing.put_record,
    "PutRecords": writing.put_records,
    "PutResourcePolicy": settings.put_policy,
    "RegisterStreamConsumer": fan_out.register_stream_consumer,
    "RemoveTagsFromStream": tagging.remove_tags_from_stream,
    "SplitShard": resharding.split_shard,
    "StartStreamEncryption": settings.start_encryption,
    "StopStreamEncryption": settings.stop_encryption,
    "TagResource": tagging.tag_resource,
    "UntagResource": tagging.untag_resource,
    "UpdateMaxRecordSize": settings.update_max_record_size,
    "UpdateShardCount": resharding.update_shard_count,
    "UpdateStreamMode": settings.update_mode,
}

SUBSCRIBE = "SubscribeToShard"
"""The one operation whose answer is a stream: ``Kinesis.subscribe`` and not ``Kinesis.call``."""


def local_operations() -> frozenset[str]:
    """What this Kinesis answers; the rest of ``service_operations`` it refuses as unknown."""
    return frozenset({*_OPERATIONS, SUBSCRIBE})


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a call takes: wait ``before_ms``, carry it out, wait ``after_ms``, answer."""

    before_ms: float = 0.0
    after_ms: float = 0.0

    @property
    def total_ms(self) -> float:
        return self.before_ms + self.after_ms


_AT_ONCE = Timing()


class Kinesis:
    """One account in one region.

    ``observer`` is told the metrics that the service publishes in ``AWS/Kinesis``.
    """

    def __init__(
        self,
        *,
        region: str = "us-east-1",
        account: str = "000000000000",
        limits: Limits | None = None,
        delays: Delays | None = None,
        seed: int = 0,
        observer: Observer | None = None,
        faults: FaultPlan | None = None,
    ) -> None:
        self.account = Account(
            region=region,
            account=account,
            limits=Limits() if limits is None else limits,
            delays=Delays.none() if delays is None else delays,
            seed=seed,
            observer=observer,
        )
        if faults is not None:
            self.account.faults = faults
        self._put_random = self.account.random("put")
        self._read_random = self.account.random("get-records")

    def call(
        self,
        operation: str,
        request: Mapping[str, Any],
        now_ms: float,
        caller: Caller = Caller.API,
        took_ms: float = 0.0,
    ) -> dict[str, Any]:
        """Request and answer as boto3 shows them, but time-stamps are seconds since the epoch.

        ``took_ms`` is what the caller waits in all, for the latency metrics. Raises
        ``ServiceError``.
        """
        answer = self.answer(operation, request, now_ms, caller, took_ms)
        if operation == "GetRecords":
            answer["Records"] = [record.as_dict() for record in answer["Records"]]
        return answer

    def answer(
        self,
        operation: str,
        request: object,
        now_ms: float,
        caller: Caller = Caller.API,
        took_ms: float = 0.0,
        encoding: Encoding = Encoding.NATIVE,
    ) -> dict[str, Any]:
        """As ``call``, but the records of GetRecords stay ``StoredRecord``s."""
        carry_out = _OPERATIONS.get(operation)
        if carry_out is None:
            raise _unknown(operation)
        self.account.admit(operation, now_ms)
        values = checked(operation, request, encoding)
        self._maybe_fail(operation, values)
        return carry_out(Call(self.account, operation, values, now_ms, caller, took_ms))

    def subscribe(
        self,
        request: object,
        now_ms: float,
        caller: Caller = Caller.API,
        encoding: Encoding = Encoding.NATIVE,
    ) -> Subscription:
        """Opens a subscription; raises ``ServiceError``."""
        values = checked(SUBSCRIBE, request, encoding)
        self._maybe_fail(SUBSCRIBE, values)
        return fan_out.subscribe_to_shard(Call(self.account, SUBSCRIBE, values, now_ms, caller))

    # --- for shells -------------------------------------------------------------------------

    def timing(self, operation: str, request: object) -> Timing:
        """Drawn for one call, as the configured delays and faults say. ``request`` may be
        anything: it is looked at for its stream and shard only."""
        timing = self._ordinary_timing(operation)
        if self.account.faults:
            site = site_of(self.account, operation, request)
            late = self.account.faults.draw_one(FaultKind.LATENCY, site)
            if late is not None:
                return Timing(timing.before_ms + late.ms, timing.after_ms)
        return timing

    def _ordinary_timing(self, operation: str) -> Timing:
        delays = self.account.delays
        if operation in ("PutRecord", "PutRecords"):
            return Timing(before_ms=delays.put_ms(self._put_random))
        if operation == "GetRecords":
            half_ms = delays.get_records_ms(self._read_random) / 2
            return Timing(half_ms, half_ms)
        return _AT_ONCE

    def loses_answer(self, operation: str, request: object) -> bool:
        """Whether the connection is to break now that the call is carried out."""
        if not self.account.faults:
            return False
        site = site_of(self.account, operation, request)
        return self.account.faults.draw_one(FaultKind.LOST_ANSWER, site) is not None

    # --- faults -----------------------------------------------------------------------------

    @property
    def faults(self) -> FaultPlan:
        """What goes wrong by request; set another plan at any time."""
        return self.account.faults

    @faults.setter
    def faults(self, plan: FaultPlan) -> None:
        self.account.faults = plan

    def _maybe_fail(self, operation: str, values: Mapping[str, Any]) -> None:
        if not self.account.faults:
            return
        site = site_of(self.account, operation, values)
        kinds = {FaultKind.INTERNAL_ERROR}
        if operation not in _THROTTLED_INSIDE:
            kinds.add(FaultKind.THROTTLE)
        fault = self.account.faults.draw(frozenset(kinds), site)
        if fault is None:
            return
        if fault.kind is FaultKind.INTERNAL_ERROR:
            raise errors.internal_failure("Internal failure, by request of the fault plan.")
        if operation == "GetShardIterator":
            raise errors.throughput_exceeded("Rate exceeded, by request of the fault plan.")
        raise errors.limit_exceeded("Rate exceeded, by request of the fault plan.")


_THROTTLED_INSIDE = frozenset({"GetRecords", "PutRecord", "PutRecords"})
"""They draw their throttling faults where they count their throttles."""


def _unknown(operation: str) -> errors.ServiceError:
    if operation == SUBSCRIBE:
        return errors.unknown_operation(f"{SUBSCRIBE} answers with a stream: use subscribe.")
    if operation in service_operations():
        return errors.unknown_operation(f"The local Kinesis does not have {operation}.")
    return errors.unknown_operation(f"There is no operation {operation!r}.")
