"""The stack that ``shardlane-lab up`` runs, of a stage that parks, under one fault after the other:
what CloudWatch then has is what the template's alarms and widgets look for.

Alarms that need minutes of a fault have theirs in ``test_alarm_faults``, in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardlane.load import POISON, LoadPlan, Planned
from shardlane_lab.alarms.history import State
from shardlane_lab.alarms.template import WatchedMetric
from shardlane_lab.dashboard.deployed import Deployed, read_deployed
from shardlane_lab.dashboard.drawn import drawn_series
from shardlane_lab.dashboard.local_metrics import local_metrics
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.dashboard.statistic import points
from shardlane_lab.dashboard.widget import MetricWidget
from shardlane_lab.dashboard.write import wanted_metrics
from shardlane_lab.local_aws.services import local_client
from shardlane_lab.local_lambda.cloud_assembly import read_stacks
from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION
from shardlane_lab.local_lambda.intrinsics import Resolver
from shardlane_lab.local_lambda.physical_name import Place
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.template_values import Template
from shardlane_lab.local_lambda.worker import system_wall_ms
from shardlane_lab.local_stack import LocalStack
from shardlane_lab.metric import Datum
from tests.infra.conftest import Synthesized

pytestmark = pytest.mark.slow("drives a whole stack, which tells of its queues every 10 s")

SETTINGS = {
    "removal": "destroy",
    "policy": "park",
    "parked_after_s": 1,
    "standard": {"function_name": "read-shared", "reserved_concurrency": 1},
    "efo": {"function_name": "read-pushed", "reserved_concurrency": 1},
}
FUNCTIONS = ("read-shared", "read-pushed")
STREAM, SHARD = "order-events", "shardId-000000000000"
AT_ONCE = {
    "parked": "poison",
    "parked-age": "poison",
    "on-failure": "outage",
    "dropped": "no destination",
    "destination": "no destination",
}
"""Alarms that one minute is enough for → the fault that raises them."""
WITHIN_S = 60.0
READERS = 15
"""At once: more than a shard answers, also when the SDK asks once more."""
MANY = 20
"""Keys that fail at once: an outage, of which nothing is parked."""


@dataclass
class Evidence:
    """What a run left behind."""

    data: list[Datum] = field(default_factory=list)
    began_ms: dict[str, float] = field(default_factory=dict)
    """Of each fault."""
    metrics: RecordedMetrics | None = None
    listed: set[tuple[Any, ...]] = field(default_factory=set)
    """Namespace, name and dimensions of what the local CloudWatch has."""


class Drive:
    """Does to the stack what its alarms are about."""

    def __init__(self, stack: LocalStack, evidence: Evidence) -> None:
        self._stack = stack
        self._evidence = evidence
        self._kinesis = local_client("kinesis", stack.kinesis_endpoint, LOCAL_REGION)
        self._seq = 0

    async def run(self) -> None:
        for name, fault in (
            ("good weather", self._good_weather),
            ("poison", self._poison),
            ("outage", self._outage),
            ("no destination", self._no_destination),
            ("busy", self._busy),
            ("crowd", self._crowd),
            ("flood", self._flood),
            ("impostor", self._impostor),
        ):
            self._evidence.began_ms[name] = system_wall_ms()
            await fault()
        self._kinesis.close()

    async def _good_weather(self) -> None:
        await self._send(10)
        await self._told("ArrivalToReceive", of=2)
        await self._told("ParkedKeys", of=2, least=0)

    async def _poison(self) -> None:
        await self._put([("bad", POISON)])
        await self._told("ParkedKeys", of=2)
        parked_ms = system_wall_ms()
        await _until(lambda: system_wall_ms() > parked_ms + 1_500, "a moment")
        await self._send(1, key="bad")
        await self._told("OldestParkedKeyAge", of=2, least=1.001)

    async def _outage(self) -> None:
        await self._put([(f"out-{number}", POISON) for number in range(MANY)])
        await self._told("OnFailureDestinationDeliveredEventCount", of=2)
        await self._told("ApproximateNumberOfMessagesVisible", of=1)

    async def _no_destination(self) -> None:
        sqs = self._stack.aws_client("sqs")
        (url,) = (await asyncio.to_thread(sqs.list_queues))["QueueUrls"]
        await asyncio.to_thread(sqs.delete_queue, QueueUrl=url)
        await self._put([(f"lost-{number}", POISON) for number in range(MANY)])
        await self._told("DroppedEventCount", of=2)
        await self._told("DestinationDeliveryFailures", of=2)

    async def _busy(self) -> None:
        """One sandbox is all that a function may have, and a record keeps it for 3 s."""
        await self._send(1, handle_ms=3_000)
        refused = (_until(partial(self._is_refused, name), name) for name in FUNCTIONS)
        await asyncio.gather(*refused)
        await self._told("Throttles", of=2)

    async def _is_refused(self, name: str) -> bool:
        try:
            await self._stack.functions[name].invoke({"Records": []})
        except InvocationRefused:
            return True
        return False

    async def _crowd(self) -> None:
        asked = {"StreamName": STREAM, "ShardId": SHARD, "ShardIteratorType": "LATEST"}
        answer = await asyncio.to_thread(self._kinesis.get_shard_iterator, **asked)
        request = {"ShardIterator": answer["ShardIterator"]}
        await _until(partial(self._is_crowded, request), "refused reads")
        await self._told("ReadProvisionedThroughputExceeded", of=1)

    async def _is_crowded(self, request: dict[str, Any]) -> bool:
        return any(await asyncio.gather(*(self._is_throttled(request) for _ in range(READERS))))

    async def _flood(self) -> None:
        """Twice what a shard takes in a second, of records that can be read."""
        await self._send(4, record_bytes=500_000)
        await self._told("WriteProvisionedThroughputExceeded", of=1)

    async def _impostor(self) -> None:
        """Somebody subscribes under the name of each fan-out consumer, twice within 5 s."""
        names = ("order-events-boto3-efo", "order-events-lambda-efo")
        await asyncio.gather(*(asyncio.to_thread(self._subscribe_twice, each) for each in names))
        await self._told("SubscribeToShard.RateExceeded", of=2)
        await self._told("SubscribeToShardEvent.MillisBehindLatest", of=2, least=0)

    def _subscribe_twice(self, name: str) -> None:
        request = {
            "ConsumerARN": self._stack.arns[name],
            "ShardId": SHARD,
            "StartingPosition": {"Type": "LATEST"},
        }
        events = self._kinesis.subscribe_to_shard(**request)["EventStream"]
        with pytest.raises(ClientError, match="ResourceInUseException"):
            self._kinesis.subscribe_to_shard(**request)
        next(iter(events))
        events.close()

    async def _is_throttled(self, request: dict[str, Any]) -> bool:
        try:
            await asyncio.to_thread(self._kinesis.get_records, **request)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            assert code == "ProvisionedThroughputExceededException"
            return True
        return False

    async def _send(self, count: int, *, key: str = "good", **load: Any) -> None:
        plan = LoadPlan(seconds=1, rate_per_s=1, **load)
        records = []
        for _ in range(count):
            now_ms = system_wall_ms()
            records.append((key, plan.payload(Planned(0, key, self._seq), now_ms, now_ms)))
            self._seq += 1
        await self._put(records)

    async def _put(self, records: list[tuple[str, bytes]]) -> None:
        entries = [{"PartitionKey": key, "Data": data} for key, data in records]
        await asyncio.to_thread(self._kinesis.put_records, StreamName=STREAM, Records=entries)

    async def _told(self, name: str, *, of: int, least: float = 1) -> None:
        """Waits until so many (both functions, say) have told as much since the fault began."""
        since_ms = max(self._evidence.began_ms.values()) // 1

        def done() -> bool:
            whose = {
                each.dimensions
                for each in list(self._evidence.data)
                if each.name == name and each.value >= least and each.at_ms >= since_ms
            }
            return len(whose) >= of

        await _until(done, name)


async def _until(look: Callable[[], bool | Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(WITHIN_S):
            while True:
                found = look()
                if found if isinstance(found, bool) else await found:
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{what}: nothing within {WITHIN_S:.0f} s") from None


@pytest.fixture(scope="module")
def folder(synthesized: Synthesized) -> Path:
    return synthesized(SETTINGS).folder


@pytest.fixture(scope="module")
def deployed(folder: Path) -> Deployed:
    return read_deployed(folder)


@pytest.fixture(scope="module")
def alarms(folder: Path) -> dict[str, WatchedMetric]:
    stacks = read_stacks(folder)
    resolver = Resolver(stacks, Place(LOCAL_REGION, LOCAL_ACCOUNT))
    found = [
        WatchedMetric.of(resolver.properties(stack, logical_id))
        for stack in stacks
        for logical_id, resource in stack.resources.items()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    ]
    return {each.name: each for each in found}


def given_up_at_once(template: Template) -> Template:
    """A mapping whose function parks tries a batch 100 times: longer than a test may take."""
    at_once = {"maximum_retry_attempts": 0, "bisect_batch_on_function_error": False}
    mappings = (
        replace(each, config=replace(each.config, **at_once))  # type: ignore[arg-type]
        for each in template.mappings
    )
    return replace(template, mappings=tuple(mappings))


@pytest.fixture(scope="module")
def evidence(folder: Path, alarms: dict[str, WatchedMetric]) -> Evidence:
    evidence = Evidence()
    wanted = [*wanted_metrics(folder), *(each.metric for each in alarms.values())]

    async def main() -> None:
        template = given_up_at_once(read_assembly(folder))
        async with LocalStack(template, observer=evidence.data.append) as stack:
            await Drive(stack, evidence).run()
            await stack.publish()
            evidence.metrics = await asyncio.to_thread(
                local_metrics, wanted, stack.aws_client, now_ms=system_wall_ms(), minutes=10
            )
            evidence.listed = await asyncio.to_thread(_listed, stack.aws_client("cloudwatch"))

    asyncio.run(main())
    return evidence


def _listed(cloudwatch: Any) -> set[tuple[Any, ...]]:
    return {
        (
            each["Namespace"],
            each["MetricName"],
            tuple(sorted((pair["Name"], pair["Value"]) for pair in each["Dimensions"])),
        )
        for page in cloudwatch.get_paginator("list_metrics").paginate()
        for each in page["Metrics"]
    }


def _id(metric: Metric) -> tuple[Any, ...]:
    return metric.namespace, metric.name, metric.dimensions


def test_cloudwatch_has_the_metric_of_every_widget(folder: Path, evidence: Evidence) -> None:
    wanted = {_id(each) for each in wanted_metrics(folder)}
    assert len(wanted) > 30
    assert wanted - evidence.listed == set()


def test_cloudwatch_has_the_metric_of_every_alarm(
    alarms: dict[str, WatchedMetric], evidence: Evidence
) -> None:
    assert len(alarms) == 2 + 2 * 10 + 2  # of the stream, of both consumers, of fan-out
    assert {_id(each.metric) for each in alarms.values()} - evidence.listed == set()


def test_every_alarm_has_values_of_its_own_statistic(
    alarms: dict[str, WatchedMetric], evidence: Evidence
) -> None:
    assert evidence.metrics is not None
    for name, alarm in alarms.items():
        assert points(alarm.metric, evidence.metrics.of(alarm.metric)), name


def test_every_line_of_every_widget_has_data(deployed: Deployed, evidence: Evidence) -> None:
    """Percentiles too: p50, p90 and p99 come from the values in the functions' logs."""
    assert evidence.metrics is not None
    for widget in deployed.dashboard().widgets:
        if isinstance(widget, MetricWidget):
            for each in drawn_series(widget.series, evidence.metrics):
                assert each.problem is None, f"{widget.title}: {each.problem}"
                assert each.points, f"{widget.title}: {each.what} has no data"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("what", sorted(AT_ONCE))
def test_an_alarm_goes_off_in_the_minute_of_its_fault_and_not_before(
    what: str, function: str, alarms: dict[str, WatchedMetric], evidence: Evidence
) -> None:
    before_ms = evidence.began_ms[AT_ONCE[what]] - 60_000
    before, after = alarms[f"{function}-{what}"].history(evidence.data, before_ms, 2)
    assert before is not State.ALARM
    assert after is State.ALARM
