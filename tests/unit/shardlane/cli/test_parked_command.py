"""``shardlane parked --sweep`` and ``peek`` from standard input, in this process, on moto."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from shardlane.cli.main import main
from shardlane.clock import SystemClock
from shardlane.operations import resend_messages
from shardlane.operations.orphans import YOUNGEST_S
from shardlane.parking.dynamodb_store import DynamoDBParkingStore
from shardlane.parking.redrive import Answer, Sent
from tests.unit.shardlane.entries import entry, sequence
from tests.unit.shardlane.operations.test_unordered import MESSAGE
from tests.unit.shardlane.parking.lots import BUCKET, CONSUMER, TABLE, gate, parked
from tests.unit.shardlane.parking.table_fixtures import credentials, dynamodb, one_dynamodb

__all__ = ["credentials", "dynamodb", "one_dynamodb"]

SWEEP = ["parked", "--table", TABLE, "--consumer", CONSUMER, "--bucket", BUCKET, "--sweep"]


@pytest.fixture
def orphan(dynamodb: DynamoDBParkingStore, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An object that no item names, and a clock that is two days on."""
    stored = dynamodb.fitted(parked(1, data=b"x" * 400_000)).stored
    now_ms = SystemClock.wall_ms()
    monkeypatch.setattr(SystemClock, "wall_ms", staticmethod(lambda: now_ms + 2000 * YOUNGEST_S))
    return stored


def objects(store: DynamoDBParkingStore) -> int:
    assert store._payloads is not None
    return int(store._payloads._s3.list_objects_v2(Bucket=BUCKET)["KeyCount"])


def test_a_sweep_lists_asks_and_deletes(
    orphan: Any, dynamodb: DynamoDBParkingStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SWEEP, "--dry-run"]) == 0
    listed = capsys.readouterr().out
    assert f"s3://{BUCKET}/{orphan.key}  400,000 bytes" in listed
    assert "1 object without a parked record, 400,000 bytes" in listed
    assert main(SWEEP) == 2
    assert "Delete 1 object? Nobody is there to ask: give --yes" in capsys.readouterr().err
    assert objects(dynamodb) == 1
    assert main([*SWEEP, "--yes"]) == 0
    assert "1 object deleted" in capsys.readouterr().out
    assert objects(dynamodb) == 0


def test_a_sweep_that_finds_nothing_asks_nothing(
    dynamodb: DynamoDBParkingStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(SWEEP) == 0
    assert capsys.readouterr().out == "0 objects without a parked record, 0 bytes\n"


def test_a_key_whose_payload_is_gone_does_not_hold_up_the_others(
    dynamodb: DynamoDBParkingStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = dynamodb.fitted(parked(1, data=b"x" * 400_000))
    assert lost.stored is not None
    dynamodb.park_first(gate("alice", since_ms=1), lost)
    dynamodb.park_first(gate("bob", since_ms=2), parked(2, "bob"))
    assert dynamodb._payloads is not None
    dynamodb._payloads.delete(lost.stored)
    sent: list[Any] = []

    def send(event: Any) -> Sent:
        sent.append(event["kinesis"]["partitionKey"])
        return Sent(Answer.HANDLED)

    monkeypatch.setattr(resend_messages, "function_send", lambda *given: send)
    monkeypatch.setattr(resend_messages, "function_timeout_s", lambda *given: 30)
    redrive = ["redrive", "--all", "--function", "billing", "--yes", "--keys", *SWEEP[1:-1]]
    assert main(redrive) == 1
    written = capsys.readouterr().out
    assert f"alice  error: bucket {BUCKET}" in written
    assert "bob  lifted, 1 handled" in written
    assert sent == ["bob"]


def test_a_message_may_come_through_a_pipe_and_needs_no_account_if_it_has_its_records(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = json.dumps({"Records": [entry(n, "alice", b'{"n": 1}') for n in range(3)]})
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(MESSAGE | {"payload": payload})))
    assert main(["peek", "--message", "-", "--payload"]) == 0
    said = capsys.readouterr()
    assert "3 records given up at 2026-11-30T08:00:00.000Z after 4 invocations" in said.err
    assert all(sequence(n) in said.out for n in range(3))
    assert said.out.count('|   "n": 1') == 3
    assert "alice" not in said.out
