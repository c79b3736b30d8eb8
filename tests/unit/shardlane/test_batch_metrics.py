from __future__ import annotations

import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane.batch_metrics import IDLE_S, BatchMetrics
from shardlane.errors import StoreUnavailable
from shardlane.parking.memory_store import MemoryParkingStore
from tests.unit.shardlane.entries import entry
from tests.unit.shardlane.stepped_clock import SteppedClock


def handle(record: Record) -> None:
    if record.partition_key == "poison":
        raise ValueError("the payload 4711 is no order")


class Consumer:
    """A processor and the lines that it wrote for CloudWatch."""

    def __init__(self, policy: FailurePolicy) -> None:
        self.clock = SteppedClock()
        self.lines: list[dict[str, Any]] = []
        self.processor = KeyedBatchProcessor(on_failure=policy, clock=self.clock, draw=lambda: 0.5)
        self.processor.metrics = BatchMetrics("billing", write=self._take)

    def _take(self, line: str) -> None:
        self.lines.append(json.loads(line))

    def __call__(self, *keys: str) -> None:
        process_partial_response(
            event={"Records": [entry(place, key) for place, key in enumerate(keys)]},
            record_handler=handle,
            processor=self.processor,
        )


def parking(store: MemoryParkingStore) -> FailurePolicy:
    return FailurePolicy.park(ParkingLot(consumer="billing", store=store), attempts=2)


def test_what_became_of_the_records_is_counted() -> None:
    consumer = Consumer(parking(MemoryParkingStore()))
    consumer("a", "poison", "poison", "b")
    (line,) = consumer.lines
    names = ("FailedRecords", "RetriedRecords", "ParkedRecords", "DroppedRecords", "ParkedKeys")
    assert [line[name] for name in names] == [1, 1, 2, 0, 1]


def test_a_quarantine_of_an_earlier_invocation_is_told_with_its_age() -> None:
    consumer = Consumer(parking(MemoryParkingStore()))
    consumer("poison")
    consumer.clock.now_s += 90
    consumer("a")
    first, second = consumer.lines
    assert (first["ParkedKeys"], first["OldestParkedKeyAge"]) == (1, 0)
    assert (second["ParkedKeys"], second["OldestParkedKeyAge"]) == (1, pytest.approx(90, abs=2))


def test_cloudwatch_is_told_where_to_put_it() -> None:
    consumer = Consumer(parking(MemoryParkingStore()))
    consumer("a")
    (line,) = consumer.lines
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == ("Shardlane", [["consumer"]])
    assert line["consumer"] == "billing"
    units = {each["Name"]: each["Unit"] for each in directive["Metrics"]}
    assert units == {
        "FailedRecords": "Count",
        "RetriedRecords": "Count",
        "ParkedRecords": "Count",
        "DroppedRecords": "Count",
        "ParkedKeys": "Count",
        "OldestParkedKeyAge": "Seconds",
    }
    assert set(units) | {"_aws", "consumer"} == set(line)


def test_neither_keys_nor_payloads_are_in_it() -> None:
    consumer = Consumer(parking(MemoryParkingStore()))
    consumer("poison")
    text = json.dumps(consumer.lines)
    assert "poison" not in text
    assert "4711" not in text


def test_good_news_are_told_now_and_then_and_bad_news_at_once() -> None:
    consumer = Consumer(parking(MemoryParkingStore()))
    consumer("a")
    consumer("b")
    assert len(consumer.lines) == 1
    consumer("poison")
    assert len(consumer.lines) == 2
    consumer.clock.now_s += IDLE_S
    consumer("c")
    assert len(consumer.lines) == 3


def test_a_lot_that_cannot_be_read_is_not_told_as_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryParkingStore()

    def gates(consumer: str) -> list[Any]:
        raise StoreUnavailable("down")

    monkeypatch.setattr(store, "gates", gates)
    consumer = Consumer(parking(store))
    consumer("a")
    (line,) = consumer.lines
    assert "ParkedKeys" not in line


def test_a_processor_that_parks_tells_by_itself_and_another_only_if_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for policy in (FailurePolicy.stop(), parking(MemoryParkingStore())):
        processor = KeyedBatchProcessor(on_failure=policy)
        process_partial_response(
            event={"Records": [entry(0, "a")]}, record_handler=handle, processor=processor
        )
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["consumer"] == "billing"
