"""On-failure messages: what is read from them, and what of it is sent again, in which order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardlane.operations.errors import OperationError
from shardlane.operations.on_failure_message import OnFailureMessage, message_from, messages_in
from shardlane.operations.unordered import (
    Fate,
    Journal,
    Resent,
    labelled,
    read_response,
    resend,
    why_not_whole,
)
from shardlane.parking.redrive import Answer, Sent
from tests.unit.shardlane.entries import entry
from tests.unit.shardlane.operations.made import STREAM_ARN

MESSAGE: dict[str, Any] = {
    "requestContext": {
        "requestId": "7a3c",
        "functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:billing:live",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 4,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST"},
    "version": "1.0",
    "timestamp": "2026-11-30T08:00:00.000Z",
    "KinesisBatchInfo": {
        "shardId": "shardId-000000000001",
        "startSequenceNumber": "100",
        "endSequenceNumber": "120",
        "approximateArrivalOfFirstRecord": "2026-11-30T07:59:00.000Z",
        "approximateArrivalOfLastRecord": "2026-11-30T07:59:09.000Z",
        "batchSize": 3,
        "streamArn": STREAM_ARN,
    },
}
READ = OnFailureMessage(
    function_arn="arn:aws:lambda:eu-west-1:123456789012:function:billing:live",
    condition="RetryAttemptsExhausted",
    invocations=4,
    at="2026-11-30T08:00:00.000Z",
    stream_arn=STREAM_ARN,
    shard_id="shardId-000000000001",
    first="100",
    last="120",
    size=3,
    first_arrival="2026-11-30T07:59:00.000Z",
)


def test_the_message_of_a_queue_has_no_records() -> None:
    assert messages_in(json.dumps(MESSAGE)) == [READ]
    assert READ.stream == "order-events"


def test_the_object_of_a_bucket_has_the_batch_in_a_string() -> None:
    payload = json.dumps({"Records": [entry(1, "alice")]})
    (found,) = messages_in(json.dumps(MESSAGE | {"payload": payload}))
    assert found.entries == (entry(1, "alice"),)


WRAPPED: list[tuple[str, Callable[[str], Any]]] = [
    ("notification", lambda text: {"Type": "Notification", "Message": text}),
    ("cli", lambda text: {"Messages": [{"Body": text}]}),
]


@pytest.mark.parametrize("wrap", [wrap for _, wrap in WRAPPED], ids=[name for name, _ in WRAPPED])
def test_it_may_be_wrapped(wrap: Callable[[str], Any]) -> None:
    assert messages_in(json.dumps(wrap(json.dumps(MESSAGE)))) == [READ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("null", "no on-failure message of a Kinesis mapping"),
        ("{}", "'KinesisBatchInfo' is missing"),
        ('{"Messages": []}', "no message in it"),
        (json.dumps(MESSAGE | {"payload": "{"}), "no on-failure message"),
        (json.dumps(MESSAGE | {"KinesisBatchInfo": {"streamArn": "a", "shardId": "b"}}), "missing"),
    ],
    ids=["broken", "null", "empty", "no messages", "broken payload", "no range"],
)
def test_what_is_no_message_is_said_to_be_none(text: str, said: str) -> None:
    with pytest.raises(OperationError, match=said):
        messages_in(text)


def test_a_sequence_number_is_digits_only() -> None:
    batch = MESSAGE["KinesisBatchInfo"] | {"startSequenceNumber": "1; rm"}
    with pytest.raises(OperationError, match="no sequence number"):
        message_from(MESSAGE | {"KinesisBatchInfo": batch})


# --- sending ----------------------------------------------------------------------------------


class Function:
    """Fails for some sequence numbers."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.sent: list[dict[str, Any]] = []

    def __call__(self, sent: dict[str, Any]) -> Sent:
        self.sent.append(sent)
        number = sent["kinesis"]["sequenceNumber"]
        return Sent(Answer.FAILED, "bad") if number in self.failing else Sent(Answer.HANDLED)

    @property
    def numbers(self) -> list[str]:
        return [each["kinesis"]["sequenceNumber"] for each in self.sent]


BATCH = [entry(1, "alice"), entry(2, "bob"), entry(3, "alice"), entry(4, "bob")]
NUMBERS = [each["kinesis"]["sequenceNumber"] for each in BATCH]


def test_all_handled_is_done_and_every_entry_is_labelled() -> None:
    function = Function()
    assert resend("m", BATCH, function, Journal()) == Resent(fate=Fate.DONE, handled=4)
    assert function.numbers == NUMBERS
    assert all(each["shardlane"]["unordered"] for each in function.sent)


def test_a_label_keeps_what_is_there() -> None:
    inner = entry(1, "alice") | {"shardlane": {"sub_sequence_number": 2}}
    assert labelled(inner)["shardlane"] == {"sub_sequence_number": 2, "unordered": True}
    assert inner["shardlane"] == {"sub_sequence_number": 2}


def test_behind_a_failure_no_record_of_its_key_is_sent_and_the_message_stays() -> None:
    function = Function(NUMBERS[0])
    done = resend("m", BATCH, function, Journal())
    assert function.numbers == [NUMBERS[0], NUMBERS[1], NUMBERS[3]]
    assert done == Resent(
        fate=Fate.KEPT, handled=2, failed=1, held_back=1, reason=f"{NUMBERS[0]}: failed: bad"
    )


def test_a_journal_on_disk_lets_the_next_run_go_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    resend("m", BATCH, Function(NUMBERS[0]), Journal(path))
    with path.open("a", encoding="utf-8") as file:
        file.write('["m", "hal')  # cut off in the middle of a line
    mended = Function()
    done = resend("m", BATCH, mended, Journal(path))
    assert mended.numbers == [NUMBERS[0], NUMBERS[2]]
    assert (done.fate, done.handled, done.before) == (Fate.DONE, 2, 2)
    other = Function()
    resend("another message", BATCH, other, Journal(path))
    assert other.numbers == NUMBERS


def test_an_entry_without_a_place_is_a_failure_of_its_own() -> None:
    function = Function()
    done = resend("m", [{"kinesis": {}}, "x", *BATCH], function, Journal())  # type: ignore[list-item]
    assert function.numbers == NUMBERS
    assert done.fate is Fate.KEPT
    assert "no sequence number" in done.reason


@pytest.mark.parametrize(
    ("found", "whole_range", "part"),
    [
        (3, False, None),
        (2, False, "1 of its 3 records have expired"),
        (0, True, "3 of its 3 records have expired"),
        (5, False, "had 3 of the 5 records in its range"),
        (5, True, None),
    ],
    ids=["whole", "one expired", "all expired", "more than the batch", "more, agreed"],
)
def test_a_range_is_sent_only_if_it_is_the_batch(
    found: int, whole_range: bool, part: str | None
) -> None:
    reason = why_not_whole(READ, found, first=READ.first, whole_range=whole_range)
    assert reason is None if part is None else part in (reason or "")


@pytest.mark.parametrize("whole_range", [False, True])
def test_as_many_records_as_the_batch_had_are_not_the_batch_if_its_first_has_expired(
    whole_range: bool,
) -> None:
    """The mapping filters: what it dropped fills the gap that the expired ones left."""
    later = str(int(READ.first) + 1)
    reason = why_not_whole(READ, READ.size, first=later, whole_range=whole_range)
    assert "its first record has expired" in (reason or "")


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (None, Answer.HANDLED),
        ("done", Answer.HANDLED),
        ({"batchItemFailures": []}, Answer.HANDLED),
        ({"batchItemFailures": None}, Answer.HANDLED),
        ({"batchItemFailures": [{"itemIdentifier": "1"}]}, Answer.FAILED),
    ],
    ids=repr,
)
def test_a_response_means_what_lambda_takes_it_for(response: Any, answer: Answer) -> None:
    assert read_response(response).answer is answer
