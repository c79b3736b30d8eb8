"""The function that sends a load from inside the region, and the sender that it shares with the
producer: on a clock that only its own sleeping moves."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardlane import BadEvent
from shardlane.load import LoadPlan, Planned
from shardlane.load_sending import LoadSender, Sent

HANDLER = Path(__file__).parents[3] / "functions" / "load" / "handler.py"
START_MS = 1_780_000_000_000.0


class SteppedClock:
    def __init__(self) -> None:
        self.now_ms = START_MS

    def wall_ms(self) -> float:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def sleep_s(self, seconds: float) -> None:
        self.now_ms += seconds * 1000


class Heard:
    def __init__(self) -> None:
        self.of_sent: list[Sent] = []
        self.resent: list[int | None] = []
        self.lost: list[int | None] = []

    def sent(self, sent: Sent) -> None:
        self.of_sent.append(sent)

    def resend(self, record: Planned, reason: str) -> None:
        self.resent.append(record.seq)

    def not_sent(self, record: Planned, reason: str) -> None:
        self.lost.append(record.seq)


def refused() -> ClientError:
    return ClientError(
        {"Error": {"Code": "ProvisionedThroughputExceededException", "Message": "slow down"}}, "Put"
    )


def test_each_record_goes_at_its_time() -> None:
    clock, heard = SteppedClock(), Heard()
    plan = LoadPlan(seconds=2.0, rate_per_s=5.0)
    sender = LoadSender(plan, lambda key, data: None, heard, clock, (ClientError,))
    sender.send(plan.planned(), START_MS)
    assert [each.sent_ms - START_MS for each in heard.of_sent] == pytest.approx(
        [200.0 * number for number in range(10)]
    )


def test_a_slow_put_makes_the_next_ones_late_and_none_is_left_out() -> None:
    clock, heard = SteppedClock(), Heard()
    plan = LoadPlan(seconds=2.0, rate_per_s=5.0)
    sender = LoadSender(plan, lambda key, data: clock.sleep_s(0.3), heard, clock, (ClientError,))
    sender.send(plan.planned(), START_MS)
    sent_ms = [each.sent_ms - START_MS for each in heard.of_sent]
    assert sent_ms == pytest.approx([300.0 * number for number in range(10)])
    assert [each.record.seq for each in heard.of_sent] == list(range(10))


def test_a_refused_record_is_sent_once_more_and_then_reported() -> None:
    clock, heard = SteppedClock(), Heard()
    plan = LoadPlan(seconds=1.0, rate_per_s=5.0)
    tries: list[int] = []

    def put(key: str, data: bytes) -> None:
        seq = json.loads(data)["seq"]
        tries.append(seq)
        if seq == 3 or (seq == 1 and tries.count(1) == 1):
            raise refused()

    LoadSender(plan, put, heard, clock, (ClientError,)).send(plan.planned(), START_MS)
    assert tries == [0, 1, 1, 2, 3, 3, 4]
    assert heard.resent == [1, 3]
    assert heard.lost == [3]


def test_what_is_no_refusal_ends_the_sending_in_every_sender() -> None:
    plan = LoadPlan(seconds=1.0, rate_per_s=50.0, senders=4)

    def put(key: str, data: bytes) -> None:
        raise RuntimeError("no stream")

    sender = LoadSender(plan, put, Heard(), SteppedClock(), (ClientError,))
    with pytest.raises(RuntimeError, match="no stream"):
        sender.send(plan.planned(), START_MS)


def test_several_senders_keep_the_order_of_each_key() -> None:
    heard = Heard()
    plan = LoadPlan(seconds=1.0, rate_per_s=200.0, keys=20, senders=8)
    # A start long ago: everything is late and goes at once.
    sender = LoadSender(plan, lambda key, data: None, heard, SteppedClock(), (ClientError,))
    sender.send(plan.planned(), START_MS - 60_000)
    by_key: dict[str, list[int]] = {}
    for each in heard.of_sent:
        assert each.record.seq is not None
        by_key.setdefault(each.record.key, []).append(each.record.seq)
    assert sum(map(len, by_key.values())) == 200
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


class Stream:
    """Takes what the function puts; refuses one number for ever."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def put_record(self, **request: Any) -> dict[str, Any]:
        if b'"seq": 13' in request["Data"]:
            raise refused()
        self.records.append(request)
        return {"SequenceNumber": "1"}


class Context:
    function_name = "load"
    memory_limit_in_mb = 256
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:load"
    aws_request_id = "7a3c"


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("STREAM_NAME", "order-events")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    spec = importlib.util.spec_from_file_location("load_handler", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.clock = SteppedClock()  # type: ignore[attr-defined]
    module.kinesis = Stream()  # type: ignore[attr-defined]
    return module


def event(from_ms: float, until_ms: float) -> dict[str, Any]:
    plan = LoadPlan(seconds=10.0, rate_per_s=5.0, poison=((3.1, 2),))
    values = {"start_ms": START_MS, "from_ms": from_ms, "until_ms": until_ms}
    return json.loads(json.dumps({"load": asdict(plan), **values}))  # type: ignore[no-any-return]


def test_parts_together_are_the_whole_load(function: ModuleType) -> None:
    answers = [
        function.lambda_handler(event(from_ms, from_ms + 2500), Context())
        for from_ms in (0, 2500, 5000, 7500)
    ]
    assert sum(answer["sent"] for answer in answers) == 49
    assert [answer["not_sent"] for answer in answers] == [[], [13], [], []]
    assert [answer["poison"] for answer in answers] == [0, 1, 0, 0]
    assert [answer["resends"] for answer in answers] == [0, 1, 0, 0]
    sent = [
        json.loads(each["Data"])["seq"]
        for each in function.kinesis.records
        if each["Data"].startswith(b"{")
    ]
    assert sent == [number for number in range(50) if number != 13]
    assert {each["StreamName"] for each in function.kinesis.records} == {"order-events"}


def test_the_function_tells_its_clock(function: ModuleType) -> None:
    assert function.lambda_handler({"clock": True}, Context()) == {"now_ms": START_MS}


def test_an_event_that_is_not_complete_is_named(function: ModuleType) -> None:
    with pytest.raises(BadEvent, match="no start_ms, until_ms; it needs load, start_ms"):
        function.lambda_handler({"load": {}, "from_ms": 0}, Context())
