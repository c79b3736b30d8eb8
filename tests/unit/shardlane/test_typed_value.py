from __future__ import annotations

import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response
from pydantic import BaseModel, Field

from shardlane import BadRecord, FailurePolicy, KeyedBatchProcessor, Record
from shardlane.typed_value import value_of
from tests.unit.shardlane.entries import SHARD, entry, reported, sequence


class Order(BaseModel):
    number: int
    customer: str = Field(min_length=1)


def record(data: bytes) -> Record:
    return Record(
        stream="order-events",
        shard_id=SHARD,
        sequence_number=sequence(0),
        partition_key="k",
        data=data,
        arrival_ms=1,
    )


def test_handlers_find_the_model_in_value() -> None:
    seen: list[tuple[Any, str, int]] = []

    def handler(each: Record) -> None:
        seen.append((each.value, each.partition_key, each.arrival_ms))

    response = process_partial_response(
        event={"Records": [entry(0, "k", b'{"number": 1, "customer": "a"}')]},
        record_handler=handler,
        processor=KeyedBatchProcessor(model=Order),
    )
    assert reported(response) is None
    assert seen == [(Order(number=1, customer="a"), "k", 1_780_000_000_071)]


def test_a_record_that_does_not_fit_fails_alone() -> None:
    seen: list[int] = []

    def handler(each: Record) -> None:
        seen.append(each.value.number)

    bodies = [{"number": 1, "customer": "a"}, {"number": "x"}, {"number": 3, "customer": "c"}]
    processor = KeyedBatchProcessor(model=Order, on_failure=FailurePolicy.drop())
    response = process_partial_response(
        event={
            "Records": [
                entry(position, "k", json.dumps(body).encode())
                for position, body in enumerate(bodies)
            ]
        },
        record_handler=handler,
        processor=processor,
    )
    assert reported(response) is None
    assert seen == [1, 3]
    assert processor.outcome.dropped == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"number": "secret"}', "data is no Order: number: int_parsing, customer: missing"),
        (b'{"number": 1, "customer": ""}', "customer: string_too_short"),
        (b"secret", "data: json_invalid"),
        (b"\xff", "data: json_invalid"),
    ],
)
def test_the_reason_says_where_and_never_what(data: bytes, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason) as caught:
        value_of(record(data), Order)
    assert "secret" not in str(caught.value)


def test_many_errors_are_counted() -> None:
    class Wide(BaseModel):
        a: int
        b: int
        c: int
        d: int
        e: int

    with pytest.raises(BadRecord, match="and 2 more"):
        value_of(record(b"{}"), Wide)


def test_another_kind_of_model_will_do() -> None:
    class Upper:
        @staticmethod
        def model_validate_json(json_data: bytes, /) -> str:
            if not json_data:
                raise ValueError("secret")
            return json_data.decode().upper()

    assert value_of(record(b"x"), Upper) == "X"
    with pytest.raises(BadRecord, match=r"data is no Upper: ValueError$"):
        value_of(record(b""), Upper)
