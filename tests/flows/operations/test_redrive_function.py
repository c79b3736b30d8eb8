"""The redrive function as it is deployed, on a table of moto's; the consumer is in process."""

from __future__ import annotations

import importlib.util
import io
import itertools
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from shardlane import SettingsError
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.place import key_hash
from shardlane.parking.redrive import Answer, Sent
from tests.unit.shardlane.parking.lots import BUCKET, CONSUMER, TABLE, gate, parked
from tests.unit.shardlane.parking.table_fixtures import credentials, dynamodb, one_dynamodb

__all__ = ["credentials", "dynamodb", "one_dynamodb"]

HANDLER = Path(__file__).parents[3] / "functions" / "redrive" / "handler.py"
_numbers = itertools.count()


class Context:
    function_name = "redrive"
    memory_limit_in_mb = 128
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:redrive"
    aws_request_id = "7a3c"

    def __init__(self, left_ms: int = 300_000) -> None:
        self._left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._left_ms


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("redrive_handler", HANDLER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Function:
    """The handler's module, loaded with an environment of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        environ = {
            "PARKING_TABLE": TABLE,
            "PARKING_CONSUMER": CONSUMER,
            "PARKING_BUCKET": BUCKET,
            "CONSUMER_FUNCTION": "billing:live",
            "CONSUMER_TIMEOUT_S": "30",
            "POWERTOOLS_SERVICE_NAME": f"redrive-{next(_numbers)}",
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        self._written = io.StringIO()
        with redirect_stdout(self._written):
            self.module = loaded()
        self.sent: list[dict[str, Any]] = []
        self.module.send = self._send
        self.answer = Sent(Answer.HANDLED)

    def _send(self, entry: dict[str, Any]) -> Sent:
        self.sent.append(entry)
        return self.answer

    def __call__(self, context: Context) -> Any:
        with redirect_stdout(self._written):
            return self.module.lambda_handler({"source": "aws.events"}, context)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self._written.getvalue().splitlines()]


@pytest.fixture
def function(dynamodb: DynamoDBParkingStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Function]:
    dynamodb.park_first(gate(), parked(1))
    dynamodb.park_behind(CONSUMER, key_hash("alice"), [parked(2)])
    made = Function(monkeypatch)
    yield made
    made.module.store._client.close()
    made.module.store._payloads._s3.close()


def test_a_due_key_is_handled_in_order_and_its_quarantine_is_lifted(
    function: Function, dynamodb: DynamoDBParkingStore
) -> None:
    counts = function(Context())
    assert counts == {"parked_keys": 1, "due": 1, "lifted": 1, "handled": 2, "left": 0}
    numbers = [each["kinesis"]["sequenceNumber"] for each in function.sent]
    assert numbers == [parked(1).sequence_number, parked(2).sequence_number]
    assert dynamodb.gates(CONSUMER) == []
    assert dynamodb.parked(CONSUMER, key_hash("alice")) == []


def test_the_metrics_say_how_many_keys_are_parked_and_for_how_long(function: Function) -> None:
    function.answer = Sent(Answer.FAILED, "ValueError: still bad")
    function(Context())
    (blob,) = [line for line in function.lines if "_aws" in line]
    assert blob["ParkedKeys"] == 1
    assert blob["RedrivenRecords"] == 0
    assert blob["OldestParkedKeyAge"] > 0
    assert blob["consumer"] == CONSUMER


def test_the_log_names_no_key_and_no_payload(function: Function) -> None:
    function.answer = Sent(Answer.FAILED, "ValueError: still bad")
    function(Context())
    (tried,) = [line["redrive"] for line in function.lines if "redrive" in line]
    assert tried == {
        "key_hash": key_hash("alice"),
        "end": "failed",
        "handled": 0,
        "reason": "ValueError: still bad",
    }
    assert not [line for line in function.lines if "alice" in json.dumps(line)]


def test_a_function_without_time_for_one_attempt_says_what_it_needs(function: Function) -> None:
    with pytest.raises(SettingsError, match="an attempt may take 50 s"):
        function(Context(left_ms=49_999))
    assert function.sent == []
