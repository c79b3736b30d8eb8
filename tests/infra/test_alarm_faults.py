"""Each fault, driven in virtual time with the template's own mapping, raises its alarm of the
template, and not before. Minutes are minutes: the rules are evaluated as deployed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane.batch_metrics import BatchMetrics
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane_lab.alarms.history import State
from shardlane_lab.alarms.template import WatchedMetric
from shardlane_lab.local_aws.embedded_metrics import embedded_metrics
from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_lambda.cloud_assembly import read_stacks
from shardlane_lab.local_lambda.function_config import LOCAL_ACCOUNT, LOCAL_REGION
from shardlane_lab.local_lambda.intrinsics import Resolver
from shardlane_lab.local_lambda.physical_name import Place
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.local_lambda.trial import FUNCTION, MAPPING_UUID, STREAM, MappingTrial
from shardlane_lab.local_lambda.trial_options import split_options
from shardlane_lab.metric import Datum, dimensions
from shardlane_lab.virtual_time import EPOCH_MS, wall_ms
from tests.infra.cloud_assembly import CloudAssembly

Kind = Literal["standard", "efo"]
BEFORE_MIN = 6
"""Minutes of good weather before each fault."""
LOT = "billing"
NAMES = {
    "FunctionName": FUNCTION,
    "ConsumerName": FUNCTION,
    "StreamName": STREAM,
    "EventSourceMappingUUID": MAPPING_UUID,
    "consumer": LOT,
}
"""What a trial calls what the template calls otherwise."""
FUNCTIONS = {"standard": "read-shared", "efo": "read-pushed"}
BOTH: tuple[Kind, Kind] = ("standard", "efo")
HALF_S = 24 * 3_600
"""Of the retention that the template's stream has."""
both_kinds = pytest.mark.parametrize("kind", BOTH)


class VirtualClock:
    def wall_ms(self) -> float:
        return wall_ms()

    def monotonic_s(self) -> float:
        return wall_ms() / 1000

    def sleep_s(self, seconds: float) -> None:
        raise AssertionError("nothing here waits between attempts")


class Fault:
    """A trial of one consumer of the template, fed with a record a minute, and its alarms."""

    def __init__(
        self, folder: Path, kind: Kind, *, policy: FailurePolicy | None = None, **options: Any
    ) -> None:
        """``policy``: default parks at the first failure."""
        template = read_assembly(folder)
        (spec,) = template.mappings_of(FUNCTIONS[kind])
        self.alarms = _alarms(folder)
        self.kind = kind
        self.poisoned = False
        self._own: list[Datum] = []
        self._processor = KeyedBatchProcessor(
            on_failure=policy or FailurePolicy.park(_lot(), attempts=1),
            clock=VirtualClock(),
        )
        self._processor.metrics = BatchMetrics(LOT, write=self._take)
        config, settings = split_options(spec.config, {"source": kind, **options})
        self.trial = MappingTrial(self._handler, config, settings)
        self.trial.run(self._at_minute_s())

    def _at_minute_s(self) -> float:
        """To the next full minute: alarms and faults then begin together."""
        return 60 - self.trial.now_s % 60

    def _handler(self, event: dict[str, Any], context: Any) -> Any:
        return process_partial_response(
            event=event, record_handler=self._handle, processor=self._processor
        )

    def _handle(self, record: Record) -> None:
        if self.poisoned or b"poison" in record.data:
            raise ValueError("no")

    def _take(self, line: str) -> None:
        for each in embedded_metrics(line):
            self._own += [
                Datum(each.namespace, each.name, each.dimensions, value, each.at_ms, each.unit)
                for value in each.values
            ]

    def minutes(self, count: int, *texts: str) -> None:
        """Lets minutes pass, each with ``texts`` (default one good record)."""
        for _ in range(count):
            for number, text in enumerate(texts or ("good",)):
                self.trial.put(text, f"{text}-{number}")
            self.trial.run(60)

    def goes_off(self, what: str) -> int:
        """In which minute after the good ones the alarm went off, at last the one after now.

        Fails if it did before the fault, or did not at all."""
        whose = {"reads-throttled": "orders", "writes-throttled": "orders"}
        alarm = self.alarms[f"{whose.get(what, FUNCTIONS[self.kind])}-{what}"]
        elapsed = int(self.trial.now_s // 60)
        start = EPOCH_MS + 60_000  # the first minute is for creating the stream
        states = alarm.history([*self.trial.metrics, *self._own], start, elapsed - 1)
        before, after = states[:BEFORE_MIN], states[BEFORE_MIN:]
        assert State.ALARM not in before[1:], f"{what} went off before: {states}"
        assert State.ALARM in after, f"{what} did not go off: {states}"
        return after.index(State.ALARM) + 1

    def silent(self) -> set[str]:
        """Alarms of this consumer and the stream that are not in alarm at the end."""
        elapsed = int(self.trial.now_s // 60)
        start = EPOCH_MS + 60_000
        data = [*self.trial.metrics, *self._own]
        return {
            name
            for name, alarm in self.alarms.items()
            if alarm.history(data, start, elapsed - 1)[-1] is not State.ALARM
        }


def _lot() -> ParkingLot:
    return ParkingLot(consumer=LOT, store=MemoryParkingStore())


def _alarms(folder: Path) -> dict[str, WatchedMetric]:
    stacks = read_stacks(folder)
    resolver = Resolver(stacks, Place(LOCAL_REGION, LOCAL_ACCOUNT))
    found = {}
    for stack in stacks:
        for logical_id, resource in stack.resources.items():
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                alarm = WatchedMetric.of(resolver.properties(stack, logical_id))
                where = {name: NAMES[name] for name, _ in alarm.metric.dimensions}
                metric = replace(alarm.metric, dimensions=dimensions(**where))
                found[alarm.name] = replace(alarm, metric=metric)
    return found


Faults = Callable[..., Fault]


@pytest.fixture
def fault(distinct: CloudAssembly) -> Iterator[Faults]:
    made: list[Fault] = []

    def make(kind: Kind, **options: Any) -> Fault:
        made.append(Fault(distinct.folder, kind, **options))
        made[-1].minutes(BEFORE_MIN)
        return made[-1]

    yield make
    for each in made:
        each.trial.close()


@both_kinds
def test_good_weather_raises_nothing(fault: Faults, kind: Kind) -> None:
    quiet = fault(kind)
    quiet.minutes(10)
    assert quiet.silent() == set(quiet.alarms)


@both_kinds
def test_records_that_fail_and_are_not_parked(fault: Faults, kind: Kind) -> None:
    failing = fault(kind, policy=FailurePolicy.stop())
    failing.poisoned = True
    failing.minutes(5)
    assert failing.goes_off("failed") == 3
    assert failing.goes_off("iterator-age") <= 4


def test_one_failure_that_passes_is_no_alarm(fault: Faults) -> None:
    failing = fault("standard", policy=FailurePolicy.stop())
    failing.poisoned = True
    failing.minutes(1)
    failing.poisoned = False
    failing.minutes(6)
    assert "read-shared-failed" in failing.silent()


@both_kinds
def test_records_that_are_given_up(fault: Faults, kind: Kind) -> None:
    given_up = fault(kind, maximum_retry_attempts=0, bisect_batch_on_function_error=False)
    given_up.poisoned = True
    given_up.minutes(2, *(f"order {number}" for number in range(20)))
    assert given_up.goes_off("on-failure") == 1
    assert f"{FUNCTIONS[kind]}-dropped" in given_up.silent()


@both_kinds
def test_records_that_are_given_up_without_a_word(fault: Faults, kind: Kind) -> None:
    lost = fault(
        kind,
        maximum_retry_attempts=0,
        bisect_batch_on_function_error=False,
        destination_fails=True,
    )
    lost.poisoned = True
    lost.minutes(2, *(f"order {number}" for number in range(20)))
    assert lost.goes_off("dropped") == 1
    assert lost.goes_off("destination") == 1
    assert f"{FUNCTIONS[kind]}-on-failure" in lost.silent()


@both_kinds
def test_a_mapping_that_stands_still(fault: Faults, kind: Kind) -> None:
    dead = fault(kind)
    dead.trial.stop()
    dead.minutes(7)
    assert dead.goes_off("dead") in (5, 6)  # it may have polled in the minute in which it ended


@both_kinds
def test_records_that_get_half_as_old_as_the_stream_keeps_them(fault: Faults, kind: Kind) -> None:
    losing = fault(kind, retention_hours=48, policy=FailurePolicy.stop())
    losing.trial.stop()
    losing.trial.put("order")
    losing.trial.run(HALF_S - 600)
    losing.poisoned = True
    losing.trial.start()
    losing.trial.run(20 * 60)
    first = losing.goes_off("losing")
    assert 3 <= first - HALF_S // 60 <= 6, "three minutes with an older record"


def test_a_fan_out_consumer_that_gets_behind_its_stream(fault: Faults) -> None:
    """Each new subscription begins yesterday, and more than an event holds is left."""
    behind = fault("efo", retention_hours=48, policy=FailurePolicy.stop())
    behind.poisoned = True
    behind.trial.stop()
    for _ in range(6):
        behind.trial.put("x" * 900_000)
        behind.trial.run(10)
    for minutes in (HALF_S // 60 - 6, 1, 1, 1, 1, 1, 1, 1, 1, 1):
        behind.trial.run(minutes * 60 - 1)
        behind.trial.start()
        behind.trial.run(1)
        behind.trial.stop()
    first = behind.goes_off("behind")
    assert 3 <= first - HALF_S // 60 <= 4


@both_kinds
def test_a_function_that_is_throttled(fault: Faults, kind: Kind) -> None:
    busy = fault(kind, concurrency=1, duration_s=_slow_when_asked, timeout_s=900)
    busy.minutes(8, *(f"slow {number}" for number in range(20)))
    assert busy.goes_off("throttled") in (3, 4)


def _slow_when_asked(event: dict[str, Any]) -> float:
    texts = [base64.b64decode(record["kinesis"]["data"]) for record in event["Records"]]
    return 50.0 if any(text.startswith(b"slow") for text in texts) else 0.0


def test_readers_that_share_too_few_reads(fault: Faults) -> None:
    crowded = fault("standard")
    for _ in range(4):
        for _ in range(20):
            with pytest.raises(ServiceError, match="Rate exceeded"):
                _read_until_refused(crowded.trial)
        crowded.minutes(1)
    assert crowded.goes_off("reads-throttled") == 3


def _read_until_refused(trial: MappingTrial) -> None:
    answer = trial.kinesis(
        "GetShardIterator", ShardId="shardId-000000000000", ShardIteratorType="LATEST"
    )
    request = {"ShardIterator": answer["ShardIterator"]}
    for _ in range(20):
        trial.do(trial.client.call("GetRecords", request))


def test_writers_that_send_a_shard_too_much(fault: Faults) -> None:
    flooded = fault("standard")
    records = [{"Data": b"good", "PartitionKey": str(number)} for number in range(500)]
    for _ in range(4):
        answers = [flooded.trial.kinesis("PutRecords", Records=records) for _ in range(3)]
        assert answers[-1]["FailedRecordCount"] > 0
        flooded.trial.run(60)
    assert flooded.goes_off("writes-throttled") == 3


def test_somebody_else_who_subscribes_under_the_same_name(fault: Faults) -> None:
    taken = fault("efo")
    for _ in range(4):
        for _ in range(5):
            with pytest.raises(ServiceError):
                _subscribe_twice(taken.trial)
        taken.minutes(1)
    assert taken.goes_off("subscribe") == 3


def _subscribe_twice(trial: MappingTrial) -> None:
    """Within the 5 s in which a second one is refused."""
    request = {
        "ConsumerARN": trial.consumer_arn,
        "ShardId": "shardId-000000000000",
        "StartingPosition": {"Type": "LATEST"},
    }

    async def begin() -> None:
        events = trial.client.subscribe(request)
        await anext(events)
        await events.aclose()  # type: ignore[attr-defined]  # an async generator

    for _ in range(2):
        trial.do(begin())


@both_kinds
def test_a_key_that_is_parked_and_stays(fault: Faults, kind: Kind) -> None:
    parked = fault(kind)
    parked.minutes(1, "poison")
    parked.minutes(3)
    assert parked.goes_off("parked") == 1
    assert parked.goes_off("parked-age") == 2
    assert f"{FUNCTIONS[kind]}-failed" in parked.silent()


def test_a_parked_key_is_not_forgotten_while_no_record_comes(fault: Faults) -> None:
    parked = fault("standard")
    parked.minutes(1, "poison")
    parked.trial.run(600)
    assert "read-shared-parked" not in parked.silent()
