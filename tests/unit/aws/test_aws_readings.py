"""What a run on AWS reads afterwards: latency lines from logs, minutes from metrics, and what the
load function says. Answers are stubbed."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from shardlane.load import LoadPlan
from shardlane_lab.aws.cloudwatch import minutes_of, wanted
from shardlane_lab.aws.errors import AwsError
from shardlane_lab.aws.load_in_region import LoadInRegion, invoking
from shardlane_lab.aws.log_tail import OVERLAP_MS, PATTERN, LogTail
from shardlane_lab.aws.registration import deregister, left_behind
from shardlane_lab.collector import Collector
from shardlane_lab.run_record import ConsumerRecord

START_MS = 1_780_000_000_000.0
GROUP = "/aws/lambda/order-latency-efo"


def client(service: str) -> Any:
    return boto3.client(
        service, region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


def line(*seqs: int, sent_ms: float = START_MS) -> str:
    count = len(seqs)
    fields = {
        "label": "lambda-efo",
        "shard_id": "shardId-000000000000",
        "seq": list(seqs),
        "sent_ms": [sent_ms + seq for seq in seqs],
        "arrival_ms": [sent_ms + seq + 70 for seq in seqs],
        "recv_ms": [sent_ms + seq + 140 for seq in seqs],
        "batch": [count] * count,
        "sequence_number": [str(seq) for seq in seqs],
    }
    return json.dumps({"level": "INFO", "message": "latency", "latency": fields})


def event(number: int, message: str, at_ms: float = START_MS) -> dict[str, Any]:
    return {"eventId": f"e{number}", "timestamp": int(at_ms), "message": message}


def request(from_ms: float, **more: str) -> dict[str, Any]:
    return {
        "logGroupName": GROUP,
        "startTime": int(from_ms),
        "filterPattern": PATTERN,
        **more,
    }


class TestLogTail:
    def test_it_reads_every_page_and_takes_each_line_once(self) -> None:
        logs = client("logs")
        later_ms = START_MS + OVERLAP_MS + 5_000
        with Stubber(logs) as stub:
            first = {"events": [event(1, line(0, 1))], "nextToken": "more"}
            second = {"events": [event(2, "START RequestId"), event(3, line(2), later_ms)]}
            stub.add_response("filter_log_events", first, request(START_MS))
            stub.add_response("filter_log_events", second, request(START_MS, nextToken="more"))
            late = [event(3, line(2), later_ms), event(4, line(3), later_ms - 1_000)]
            stub.add_response("filter_log_events", {"events": late}, request(START_MS + 5_000))
            tail = LogTail(logs, GROUP, START_MS)
            assert [values["seq"] for values in tail.read()] == [0, 1, 2]
            assert [values["seq"] for values in tail.read()] == [3]
            stub.assert_no_pending_responses()

    def test_what_an_earlier_run_sent_is_not_this_runs(self) -> None:
        logs = client("logs")
        with Stubber(logs) as stub:
            events = [event(1, line(7, sent_ms=START_MS - 1_000)), event(2, line(7))]
            stub.add_response("filter_log_events", {"events": events})
            (values,) = LogTail(logs, GROUP, START_MS).read()
            assert values["sent_ms"] == START_MS + 7

    def test_a_log_group_that_is_not_there_is_named(self) -> None:
        logs = client("logs")
        with Stubber(logs) as stub:
            stub.add_client_error("filter_log_events", "ResourceNotFoundException", "none")
            with pytest.raises(AwsError, match=f"the log group {GROUP}: .*ResourceNotFound"):
                LogTail(logs, GROUP, START_MS).read()


CONSUMERS = [
    ConsumerRecord(
        label="lambda-efo", kind="lambda-efo", function="f-efo", efo_consumer="lambda-efo"
    ),
    ConsumerRecord(label="boto3-get-records", kind="boto3-get-records"),
]


class TestMetrics:
    def test_those_of_stream_consumer_function_and_mapping_are_wanted(self) -> None:
        found = {(each.name, each.dimensions) for each in wanted("s", CONSUMERS, ["uuid"])}
        on_consumer = (("ConsumerName", "lambda-efo"), ("StreamName", "s"))
        assert ("GetRecords.Success", (("StreamName", "s"),)) in found
        assert ("SubscribeToShardEvent.MillisBehindLatest", on_consumer) in found
        assert ("IteratorAge", (("FunctionName", "f-efo"),)) in found
        assert ("PolledEventCount", (("EventSourceMappingUUID", "uuid"),)) in found

    def test_statistics_become_minutes_counted_from_the_runs_first(self) -> None:
        cloudwatch = client("cloudwatch")
        metrics = wanted("s", [], [])[:2]
        first_s = int(START_MS / 1000) // 60 * 60
        times = [datetime.fromtimestamp(first_s + 60 * minute, UTC) for minute in (0, 2)]
        values = {"Sum": [10.0, 30.0], "SampleCount": [2.0, 3.0], "Minimum": [4.0, 9.0]}
        pages = [
            {
                "MetricDataResults": [
                    {"Id": f"m1_{index}", "Timestamps": times, "Values": found}
                    for index, found in enumerate(values.values())
                ],
                "NextToken": "more",
            },
            {"MetricDataResults": [{"Id": "m1_3", "Timestamps": times, "Values": [6.0, 11.0]}]},
        ]
        asked = {
            "MetricDataQueries": ANY,
            "StartTime": datetime.fromtimestamp(first_s, UTC),
            "EndTime": datetime.fromtimestamp((START_MS + 180_000) / 1000, UTC),
            "ScanBy": "TimestampAscending",
        }
        with Stubber(cloudwatch) as stub:
            stub.add_response("get_metric_data", pages[0], asked)
            stub.add_response("get_metric_data", pages[1], asked | {"NextToken": "more"})
            rows = minutes_of(cloudwatch, metrics, START_MS, START_MS + 180_000)
            stub.assert_no_pending_responses()
        assert [(row.minute, row.sum, row.count, row.minimum, row.maximum) for row in rows] == [
            (0, 10.0, 2, 4.0, 6.0),
            (2, 30.0, 3, 9.0, 11.0),
        ]
        assert {row.name for row in rows} == {metrics[1].name}


class Function:
    """Answers as the load function does, at once; ``busy`` is never more than it should be."""

    def __init__(self, plan: LoadPlan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self.events: list[dict[str, Any]] = []

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        if event.get("clock"):
            return {"now_ms": START_MS}
        with self._lock:
            self.events.append(event)
        mine = [
            each.seq
            for each in self._plan.planned()
            if event["from_ms"] <= each.at_ms < event["until_ms"] and each.seq is not None
        ]
        lost = [seq for seq in mine if seq == 3]
        return {
            "sent": len(mine) - len(lost),
            "not_sent": lost,
            "first_put_ms": 12.0,
            "resends": len(lost),
            "poison": 0,
        }


class TestLoadInRegion:
    def test_the_parts_cover_the_load_once_on_the_functions_clock(self) -> None:
        plan = LoadPlan(seconds=0.5, rate_per_s=20.0, poison=((0.2, 1),))
        function, collector = Function(plan), Collector("run", ["lambda-efo"])
        load = LoadInRegion(plan, function.invoke, collector, part_s=0.2, ahead_s=0.05)
        asyncio.run(load.run())
        windows = sorted((each["from_ms"], each["until_ms"]) for each in function.events)
        assert windows == [(0, 200), (200, pytest.approx(400)), (pytest.approx(400), ANY)]
        assert {each["start_ms"] for each in function.events} == {START_MS + 50}
        assert collector.started_ms == START_MS + 50
        assert collector.sent == set(range(10)) - {3}
        assert (collector.producer_failures, collector.resends, collector.poison) == (1, 1, 1)
        assert collector.first_put_ms == 12.0

    def test_when_stopped_it_waits_for_the_part_under_way_and_starts_no_other(self) -> None:
        plan = LoadPlan(seconds=60.0, rate_per_s=1.0)
        ended = threading.Event()
        begun = threading.Event()

        def invoke(event: dict[str, Any]) -> dict[str, Any]:
            if event.get("clock"):
                return {"now_ms": START_MS}
            begun.set()
            assert release.wait(30)
            ended.set()
            return {"not_sent": [], "first_put_ms": 1.0, "resends": 0}

        release = threading.Event()

        async def stop_in_the_middle() -> Collector:
            collector = Collector("run", ["lambda-efo"])
            load = LoadInRegion(plan, invoke, collector, part_s=20, ahead_s=0.01)
            running = asyncio.create_task(load.run())
            await asyncio.to_thread(begun.wait, 30)
            running.cancel()
            release.set()
            await asyncio.gather(running, return_exceptions=True)
            return collector

        collector = asyncio.run(stop_in_the_middle())
        assert ended.is_set()
        assert collector.sent == set(range(20))

    def test_a_function_that_fails_is_quoted(self) -> None:
        class Answer:
            def read(self) -> bytes:
                return b'{"errorMessage": "no stream", "errorType": "KeyError"}'

        class Functions:
            def invoke(self, **_: Any) -> dict[str, Any]:
                return {"FunctionError": "Unhandled", "Payload": Answer()}

        with pytest.raises(AwsError, match="the load function f failed: no stream"):
            invoking(Functions(), "f")({})


ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/order-events"


class TestRegistration:
    def test_one_that_is_gone_already_is_fine(self) -> None:
        kinesis = client("kinesis")
        with Stubber(kinesis) as stub:
            stub.add_client_error("deregister_stream_consumer", "ResourceNotFoundException", "no")
            deregister(kinesis, ARN, "order-events-run-1-boto3-efo-2")
            stub.assert_no_pending_responses()

    def test_one_that_stays_is_named_because_it_is_billed(self) -> None:
        kinesis = client("kinesis")
        with Stubber(kinesis) as stub:
            stub.add_client_error("deregister_stream_consumer", "AccessDeniedException", "no")
            with pytest.raises(AwsError, match=r"consumer c is still registered and billed .*no"):
                deregister(kinesis, ARN, "c")

    def test_what_an_earlier_run_left_is_found_by_its_name(self) -> None:
        names = {"order-events-boto3-efo", "order-events-run-1a2b-boto3-efo-2", "run-other"}
        assert left_behind(names, "order-events") == ["order-events-run-1a2b-boto3-efo-2"]
