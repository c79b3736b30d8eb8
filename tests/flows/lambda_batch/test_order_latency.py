"""The order-latency function on the sample events, in process; the lab runs it in the real
runtime client."""

from __future__ import annotations

import base64
import importlib.util
import io
import itertools
import json
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shardlane import BadEvent, SettingsError
from shardlane.latency import samples_in

ROOT = Path(__file__).parents[3]
HANDLER = ROOT / "functions" / "order_latency" / "handler.py"
EVENTS = ROOT / "tests" / "events"
NOW_MS = 1_780_000_000_500.0
_numbers = itertools.count()


class Context:
    function_name = "order-latency-efo"
    memory_limit_in_mb = 128
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:order-latency-efo"
    aws_request_id = "7a3c"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


class FixedClock:
    def __init__(self) -> None:
        self.slept_s: list[float] = []

    def wall_ms(self) -> float:
        return NOW_MS

    def sleep_s(self, seconds: float) -> None:
        self.slept_s.append(seconds)


def load(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("order_latency_handler", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ENVIRON = {
    "LABEL": "lambda-efo",
    "WORKERS": "1",
    "LOG_KEYS": "false",
    "POWERTOOLS_METRICS_NAMESPACE": "Shardlane",
    "POWERTOOLS_LOG_LEVEL": "INFO",
}


class Function:
    """The function as a sandbox runs it: standard output is its own from the import on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **environ: str) -> None:
        # Powertools keeps a logger per service, with the standard output of its first use.
        service = f"order-latency-{next(_numbers)}"
        self._written = io.StringIO()
        with redirect_stdout(self._written):
            self._module = load(
                ENVIRON | {"POWERTOOLS_SERVICE_NAME": service} | environ, monkeypatch
            )
        self.clock = FixedClock()
        self._module.clock = self.clock  # type: ignore[attr-defined]

    def __call__(self, event: Any) -> tuple[Any, Output]:
        with redirect_stdout(self._written):
            response = self._module.lambda_handler(event, Context())
        return response, Output(self._written.getvalue())


@pytest.fixture(params=["1", "4"])
def function(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Function:
    return Function(monkeypatch, WORKERS=str(request.param))


def event(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


class Output:
    """What a function wrote to standard output: log lines and EMF blobs."""

    def __init__(self, text: str) -> None:
        lines = [json.loads(line) for line in text.splitlines()]
        self.metrics = [line for line in lines if "_aws" in line]
        self.logs = [line for line in lines if "_aws" not in line]
        self.samples = [sample for line in self.logs for sample in samples_in(line)]

    def values(self, name: str) -> list[float]:
        return [value for blob in self.metrics for value in blob.get(name, [])]


@pytest.mark.parametrize("name", ["standard", "efo"])
def test_every_record_is_measured(name: str, function: Function) -> None:
    response, output = function(event(name))
    assert response == {"batchItemFailures": []}
    samples = sorted(output.samples, key=lambda sample: sample["seq"])
    records = event(name)["Records"]
    assert samples == [
        {
            "label": "lambda-efo",
            "shard_id": "shardId-000000000000",
            "seq": number,
            "sent_ms": 1_780_000_000_000 + number * 200,
            "scheduled_ms": 1_780_000_000_000 + number * 200,
            "arrival_ms": 1_780_000_000_071 + number * 200,
            "recv_ms": NOW_MS,
            "batch": 3,
            "sequence_number": records[number]["kinesis"]["sequenceNumber"],
        }
        for number in range(3)
    ]


def test_the_metrics_have_the_dimensions_service_and_label_only(function: Function) -> None:
    _, output = function(event("standard"))
    assert sorted(output.values("ArrivalToReceive")) == [29, 229, 429]
    assert output.values("SendToArrival") == [71, 71, 71]
    (measured,) = [blob for blob in output.metrics if "ArrivalToReceive" in blob]
    (directive,) = measured["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Shardlane"
    assert [sorted(each) for each in directive["Dimensions"]] == [["label", "service"]]
    assert {each["Unit"] for each in directive["Metrics"]} == {"Milliseconds"}
    assert measured["label"] == "lambda-efo"


def test_a_bad_record_fails_alone_with_its_reason(function: Function) -> None:
    bad = event("bad-record")["Records"][2]["kinesis"]["sequenceNumber"]
    response, output = function(event("bad-record"))
    assert response == {"batchItemFailures": [{"itemIdentifier": bad}]}
    assert {sample["seq"] for sample in output.samples} >= {0, 1}
    (warning,) = [line for line in output.logs if line["level"] == "WARNING"]
    assert warning["shardlane"]["failures"][0]["sequence_number"] == bad
    assert "kinesis.data is not base64" in warning["shardlane"]["failures"][0]["reason"]


def test_a_key_is_measured_in_order(function: Function) -> None:
    samples = function(event("several-keys"))[1].samples
    assert [sample["seq"] for sample in samples if sample["seq"] in (0, 3, 5)] == [0, 3, 5]
    assert len(samples) == 6
    assert not any("key" in sample for sample in samples)


def test_an_empty_batch_is_a_success(function: Function) -> None:
    response, output = function(event("empty"))
    assert response == {"batchItemFailures": []}
    assert output.logs == output.metrics == []


@pytest.mark.parametrize("wrong", [{}, {"Records": None}, {"Records": "many"}, [], None])
def test_a_malformed_event_is_refused_with_what_is_missing(wrong: Any, function: Function) -> None:
    with pytest.raises(BadEvent, match="no list Records"):
        function(wrong)


def test_a_large_batch_fits_the_limits_of_log_lines_and_metrics(function: Function) -> None:
    (first, *_), count = event("standard")["Records"], 1_050
    records = [
        first | {"kinesis": first["kinesis"] | {"sequenceNumber": str(10**55 + number)}}
        for number in range(count)
    ]
    _, output = function({"Records": records})
    assert [len(samples_in(line)) for line in output.logs] == [500, 500, 50]
    assert len(output.values("ArrivalToReceive")) == count
    measured = [blob for blob in output.metrics if "ArrivalToReceive" in blob]
    assert all(len(blob["ArrivalToReceive"]) <= 100 for blob in measured)
    assert all(blob["label"] == "lambda-efo" for blob in measured)


def test_keys_are_in_the_log_if_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Function(monkeypatch, LOG_KEYS="true")(event("several-keys"))[1].samples
    assert [sample["key"] for sample in samples] == [
        "alice",
        "bob",
        "carol",
        "alice",
        "bob",
        "alice",
    ]


def test_a_wrong_environment_stops_the_function_at_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environ = ENVIRON | {"WORKERS": "many", "POWERTOOLS_SERVICE_NAME": "order-latency"}
    with pytest.raises(SettingsError, match="WORKERS is 'many'; allowed: a whole number"):
        load(environ, monkeypatch)


def test_a_record_says_how_long_its_handling_takes(function: Function) -> None:
    slow = event("standard")
    for number, record in enumerate(slow["Records"], start=1):
        load = {"seq": number, "sent_ms": 1.0, "handle_ms": 250.0 * number}
        record["kinesis"]["data"] = base64.b64encode(json.dumps(load).encode()).decode()
    response, output = function(slow)
    assert response == {"batchItemFailures": []}
    count = len(slow["Records"])
    assert sorted(function.clock.slept_s) == [0.25 * each for each in range(1, count + 1)]
    assert len(output.samples) == count


@pytest.mark.parametrize("handle_ms", [-1, 60_001, "1", True])
def test_a_record_that_asks_for_too_much_time_fails_alone(
    handle_ms: Any, function: Function
) -> None:
    slow = event("standard")
    load = {"seq": 1, "sent_ms": 1.0, "handle_ms": handle_ms}
    kinesis = slow["Records"][0]["kinesis"]
    kinesis["data"] = base64.b64encode(json.dumps(load).encode()).decode()
    response, _ = function(slow)
    assert response == {"batchItemFailures": [{"itemIdentifier": kinesis["sequenceNumber"]}]}
    assert function.clock.slept_s == []
