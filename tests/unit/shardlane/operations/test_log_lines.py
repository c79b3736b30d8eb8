"""What is read from a function's log: our processor's lines in both forms, and the runtime's."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import FailurePolicy, KeyedBatchProcessor, ParkingLot, Record
from shardlane.operations.log_lines import TIMED_OUT, Failing, Line, logged
from shardlane.parking.memory_store import MemoryParkingStore
from tests.unit.shardlane.entries import Context, entry, sequence

SECOND_MS = 1_000


class Lines(logging.Handler):
    """The processor's lines as the standard logger writes them and as a JSON logger does."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def as_text(self) -> list[str]:
        return [
            f"[WARNING]\t2026-11-30T08:00:00.000Z\t7a3c\t{r.getMessage()}" for r in self.records
        ]

    def as_json(self) -> list[str]:
        return [
            json.dumps(
                {"level": "WARNING", "message": r.getMessage(), "shardlane": vars(r)["shardlane"]}
            )
            for r in self.records
        ]


@pytest.fixture
def lines() -> Lines:
    return Lines()


def invoke(lines: Lines, *, park: bool = False, times: int = 1) -> None:
    """A batch whose second record fails, as often as a mapping would send it."""
    logger = logging.Logger("test")
    logger.addHandler(lines)
    lot = ParkingLot(consumer="billing", store=MemoryParkingStore())
    processor = KeyedBatchProcessor(
        on_failure=FailurePolicy.park(lot, attempts=1) if park else FailurePolicy.stop(attempts=2),
        log_keys=True,
        logger=logger,
        draw=lambda: 0.0,
    )

    def handle(record: Record) -> None:
        if record.sequence_number == sequence(2):
            raise ValueError("a bad amount; really")

    context: Any = Context(30_000)
    for _ in range(times):
        process_partial_response(
            event={"Records": [entry(1, "alice"), entry(2, "bob")]},
            record_handler=handle,
            processor=processor,
            context=context,
        )


def dated(texts: list[str]) -> list[Line]:
    return [Line(index * SECOND_MS, text) for index, text in enumerate(texts)]


def test_a_json_line_names_record_attempts_action_reason_and_key(lines: Lines) -> None:
    invoke(lines, times=3)
    (found,) = logged(dated(lines.as_json())).failing
    assert found == Failing(
        sequence_number=sequence(2),
        first_ms=0,
        last_ms=2 * SECOND_MS,
        invocations=3,
        longest_gap_ms=SECOND_MS,
        attempts=6,
        reason="ValueError: a bad amount; really",
        action="stop",
        key="bob",
    )


def test_a_text_line_names_record_and_reason(lines: Lines) -> None:
    invoke(lines, times=2)
    (found,) = logged(dated(lines.as_text())).failing
    assert (found.sequence_number, found.invocations, found.attempts) == (sequence(2), 2, None)
    assert found.reason == "ValueError: a bad amount"
    assert (found.action, found.key) == (None, None)


def test_a_record_that_was_parked_holds_up_nothing(lines: Lines) -> None:
    invoke(lines, park=True)
    assert lines.records
    assert logged(dated(lines.as_json())).failing == ()


def test_lines_in_any_order_give_the_same(lines: Lines) -> None:
    invoke(lines, times=3)
    there = dated(lines.as_json())
    assert logged(reversed(there)) == logged(there)


def test_records_are_in_the_order_of_their_last_line() -> None:
    texts = [
        f"[WARNING] 1 of 2 records failed; the first: {sequence(number)} ValueError: x"
        for number in (5, 9, 5)
    ]
    found = logged(dated(texts)).failing
    assert [each.sequence_number for each in found] == [sequence(9), sequence(5)]


def test_the_runtimes_errors_and_time_outs_are_counted_by_kind() -> None:
    texts = [
        "[ERROR] KeyError: 'a secret'\nTraceback (most recent call last):",
        "[ERROR]\t2026-11-30T08:00:00.000Z\t7a3c\tOrderRefused: alice",
        "[ERROR] KeyError: 'another'",
        "2026-11-30T08:00:00.000Z 7a3c Task timed out after 3.00 seconds",
        "START RequestId: 7a3c Version: $LATEST",
    ]
    found = logged(dated(texts))
    assert dict(found.errors) == {"KeyError": 2, "OrderRefused": 1, TIMED_OUT: 1}
    assert "secret" not in repr(found)


def test_a_processor_that_starts_nothing_says_why() -> None:
    text = "[WARNING] none of 7 records was started: table order-events-parking: throttled"
    assert logged([Line(5, text)]).not_started == ((5, "table order-events-parking: throttled"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"shardlane": {}}',
        '{"shardlane": {"first_unsettled": "1", "failures": null}}',
        '{"shardlane": 7, "message": 7}',
        "3 of 7 records failed",
    ],
    ids=repr,
)
def test_any_other_line_says_nothing(text: str) -> None:
    assert logged([Line(1, text)]).failing == ()
