from __future__ import annotations

import json
from typing import Any

import pytest

from shardlane import BadRecord, Record
from shardlane.latency import (
    Latency,
    latency_of,
    load_payload_of,
    log_fields_of,
    samples_in,
    samples_in_text,
)
from tests.unit.shardlane.entries import SHARD, sequence


def record(payload: object) -> Record:
    return Record(
        stream="order-events",
        shard_id=SHARD,
        sequence_number=sequence(0),
        partition_key="alice",
        data=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
        arrival_ms=1_780_000_000_071,
    )


def latency(seq: int, **fields: Any) -> Latency:
    values: dict[str, Any] = {
        "label": "lambda-efo",
        "seq": seq,
        "sent_ms": 1.0,
        "arrival_ms": 2,
        "recv_ms": 3.5,
        "batch": 4,
        "sequence_number": sequence(seq),
        "shard_id": SHARD,
    }
    return Latency(**(values | fields))


def line(fields: dict[str, Any]) -> dict[str, Any]:
    return {"message": "latency", "level": "INFO", "latency": fields}


def test_a_load_record_becomes_a_latency() -> None:
    payload = {
        "seq": 7,
        "sent_ms": 1_780_000_000_000,
        "scheduled_ms": 1_779_999_999_999.5,
        "pad": "",
    }
    measured = latency_of(
        record(payload), label="lambda-efo", recv_ms=1_780_000_000_140.25, batch=2
    )
    assert measured == Latency(
        label="lambda-efo",
        seq=7,
        sent_ms=1_780_000_000_000,
        arrival_ms=1_780_000_000_071,
        recv_ms=1_780_000_000_140.25,
        batch=2,
        sequence_number=sequence(0),
        shard_id=SHARD,
        scheduled_ms=1_779_999_999_999.5,
        key=None,
    )
    assert measured.arrival_to_receive_ms == 69.25
    assert measured.send_to_arrival_ms == 71


def test_the_key_is_there_only_if_asked_for() -> None:
    payload = {"seq": 7, "sent_ms": 1}
    assert latency_of(record(payload), label="l", recv_ms=1, batch=1, with_key=True).key == "alice"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff", "not UTF-8"),
        (b"order", "not JSON"),
        ([], "a JSON list, not an object"),
        ({"sent_ms": 1}, "field seq is missing"),
        ({"seq": 1}, "field sent_ms is missing"),
        ({"seq": "1", "sent_ms": 1}, "field seq is a JSON str"),
        ({"seq": True, "sent_ms": 1}, "field seq is a JSON bool"),
        ({"seq": None, "sent_ms": 1}, "field seq is a JSON NoneType"),
        ({"seq": 1.5, "sent_ms": 1}, "field seq is not a whole number"),
        ({"seq": -1, "sent_ms": 1}, "field seq is not a whole number"),
        ({"seq": 1, "sent_ms": float("nan")}, "field sent_ms is not a finite number"),
        ({"seq": 1, "sent_ms": float("inf")}, "field sent_ms is not a finite number"),
        ({"seq": 10**400, "sent_ms": 1}, "field seq is not a finite number"),
        ({"seq": 1, "sent_ms": 1, "scheduled_ms": None}, "field scheduled_ms is a JSON NoneType"),
    ],
)
def test_anything_else_is_refused_with_the_reason(payload: object, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        load_payload_of(record(payload))


def test_a_line_is_read_back_as_the_records_that_went_in() -> None:
    latencies = [latency(0, scheduled_ms=0.5), latency(1, key="alice")]
    (fields,) = log_fields_of(latencies)
    read = samples_in(json.loads(json.dumps(line(fields))))
    expected = [
        {name: value for name, value in each._asdict().items() if value is not None}
        for each in latencies
    ]
    assert read == expected


def test_optional_arrays_are_left_out_when_nobody_filled_them() -> None:
    (fields,) = log_fields_of([latency(0)])
    assert set(fields) == {
        "label",
        "shard_id",
        "seq",
        "sent_ms",
        "arrival_ms",
        "recv_ms",
        "batch",
        "sequence_number",
    }


def test_a_line_holds_500_records_of_one_shard() -> None:
    latencies = [latency(seq, shard_id=f"shard-{seq % 2}") for seq in range(1_002)]
    lines = list(log_fields_of(latencies))
    assert [(each["shard_id"], len(each["seq"])) for each in lines] == [
        ("shard-0", 500),
        ("shard-0", 1),
        ("shard-1", 500),
        ("shard-1", 1),
    ]
    assert sorted(seq for each in lines for seq in each["seq"]) == list(range(1_002))
    assert list(log_fields_of([])) == []


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"message": "latency"},
        {"message": "latency", "latency": "slow"},
        {"message": "started", "latency": {"seq": [1]}},
    ],
)
def test_another_line_has_no_samples(other: dict[str, Any]) -> None:
    assert samples_in(other) == []


def test_text_that_is_no_json_object_has_no_samples() -> None:
    (fields,) = log_fields_of([latency(0)])
    assert samples_in_text("START RequestId: 1") == []
    assert samples_in_text("[]") == []
    assert [each["seq"] for each in samples_in_text(json.dumps(line(fields)))] == [0]


def test_a_damaged_line_is_an_error() -> None:
    (fields,) = log_fields_of([latency(0), latency(1)])
    with pytest.raises(ValueError, match="without recv_ms"):
        samples_in(line({name: value for name, value in fields.items() if name != "recv_ms"}))
    with pytest.raises(ValueError, match="differ in length"):
        samples_in(line(fields | {"seq": [1]}))
