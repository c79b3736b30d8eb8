"""Tumbling windows. Source: "Implementing stateful Kinesis Data Streams processing in Lambda",
Lambda Developer Guide."""

from __future__ import annotations

from typing import Any

import pytest

from shardlane_lab.local_lambda.mapping_config import Undocumented
from shardlane_lab.local_lambda.trial import Invocation, MappingTrial
from shardlane_lab.pytest_plugin import MappingTrials
from tests.flows.mapping.answers import Event, succeed, texts


def summing(event: Event, _context: Any) -> Event:
    """Adds up the records' numbers."""
    total = event["state"].get("total", 0) + sum(int(text) for text in texts(event))
    return {"state": {"total": total}}


def of_shard(trial: MappingTrial, number: int) -> list[Invocation]:
    shard_id = f"shardId-{number:012d}"
    return [each for each in trial.invocations if each.event["shardId"] == shard_id]


def told(trial: MappingTrial, shard: int) -> list[tuple[str, Event]]:
    """What the function was given of one shard, and with which state."""
    return [
        ("final" if event["isFinalInvokeForWindow"] else "".join(texts(event)), event["state"])
        for event in (each.event for each in of_shard(trial, shard))
    ]


def test_state_is_carried_through_a_window_and_starts_anew_in_the_next(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(summing, source=source, tumbling_window_s=30)
    for i in range(6):
        trial.put(str(i))
        trial.run(10)
    trial.run(60)
    finals = [each for each in trial.invocations if each.event["isFinalInvokeForWindow"]]
    # The trial's epoch lies 10 s after a multiple of 30 s: windows end at 20 s, 50 s and 80 s.
    assert [each.event["state"] for each in finals] == [{"total": 1}, {"total": 9}, {"total": 5}]
    assert [each.event["Records"] for each in finals] == [[], [], []]
    second_window = next(each for each in trial.invocations if texts(each.event) == ["2"])
    assert second_window.event["state"] == {}


def test_the_members_of_a_window_event(kinesis_mapping: MappingTrials, source: str) -> None:
    trial = kinesis_mapping(summing, source=source, tumbling_window_s=120)
    trial.put("5")
    trial.settle()
    event = trial.invocations[0].event
    arn = event["Records"][0]["eventSourceARN"]
    del event["Records"]
    assert event == {
        "window": {"start": "2026-05-28T20:26:00Z", "end": "2026-05-28T20:28:00Z"},
        "state": {},
        "shardId": "shardId-000000000000",
        "eventSourceARN": arn,
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }


def test_a_batch_never_spans_two_windows(kinesis_mapping: MappingTrials) -> None:
    trial = kinesis_mapping(summing, tumbling_window_s=10, start_now=False)
    for i in range(4):
        trial.put(str(i))
        trial.run(5)
    trial.start()
    trial.run(60)
    kinds = [
        "final" if each.event["isFinalInvokeForWindow"] else "".join(texts(each.event))
        for each in trial.invocations
    ]
    assert kinds == ["01", "final", "23", "final"]


@pytest.mark.parametrize("answer", [None, {}, {"state": None}, {"state": "text"}], ids=str)
def test_an_answer_without_state_is_a_failed_invocation(
    kinesis_mapping: MappingTrials, answer: Any
) -> None:
    trial = kinesis_mapping(
        lambda _event, _context: answer, tumbling_window_s=60, maximum_retry_attempts=1
    )
    trial.put("1")
    trial.settle()
    assert len(trial.invocations) == 2
    assert len(trial.on_failure) == 1


def test_nothing_goes_on_until_the_last_invocation_of_a_window_succeeds(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    failures = 3

    def handler(event: Event, _context: Any) -> Event:
        nonlocal failures
        if event["isFinalInvokeForWindow"] and failures:
            failures -= 1
            raise RuntimeError("not yet")
        return summing(event, _context)

    trial = kinesis_mapping(handler, source=source, tumbling_window_s=10, maximum_retry_attempts=0)
    trial.put("1")
    trial.run(12)
    trial.put("2")
    trial.settle()
    kinds = [
        "final" if each.event["isFinalInvokeForWindow"] else "".join(texts(each.event))
        for each in trial.invocations
    ]
    assert kinds == ["1", "final", "final", "final", "final", "2"]
    assert trial.on_failure == []


def with_a_refused_end(kinesis_mapping: MappingTrials, source: str) -> MappingTrial:
    """A trial at 20 s: shard 0's window ended at 10 s, and its last invocation is refused since
    12 s, because shard 1 has the only concurrent invocation until 40 s at least."""
    trial = kinesis_mapping(
        summing,
        source=source,
        shards=2,
        concurrency=1,
        duration_s=lambda event: 30 if texts(event) == ["9"] else 0,
        timeout_s=60,
        tumbling_window_s=10,
        maximum_retry_attempts=0,
        undocumented=Undocumented(retry_first_s=2, retry_longest_s=10),
    )
    left, right = "0", str(2**128 - 1)
    trial.put("1", hash_key=left)
    trial.run(2)
    trial.put("2", hash_key=left)
    trial.run(8)
    trial.put("9", hash_key=right)
    trial.run(3)
    trial.put("4", hash_key=left)
    trial.run(7)
    assert told(trial, 0) == [("1", {}), ("2", {"total": 1})]
    assert sum(trial.metric("Throttles")) == 3
    return trial


def test_the_last_invocation_of_a_window_is_tried_again_when_it_was_refused(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    """No retry is used up, and the next windows' records wait however long it takes."""
    trial = with_a_refused_end(kinesis_mapping, source)
    trial.run(5)
    trial.put("8", hash_key="0")
    trial.run(60)
    assert told(trial, 0)[2:] == [
        ("final", {"total": 3}),
        ("4", {}),
        ("final", {"total": 4}),
        ("8", {}),
        ("final", {"total": 8}),
    ]
    end = of_shard(trial, 0)[2]
    assert end.at_s == 46  # after 12, 14, 18, 26 and 36 s
    assert sum(trial.metric("Throttles")) == 5
    assert end.event["Records"] == []
    assert end.event["isWindowTerminatedEarly"] is False
    assert end.event["window"] == {"start": "2026-05-28T20:26:40Z", "end": "2026-05-28T20:26:50Z"}
    assert told(trial, 1) == [("9", {}), ("final", {"total": 9})]
    assert trial.on_failure == []


def test_a_refused_last_invocation_is_still_owed_after_a_restart(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = with_a_refused_end(kinesis_mapping, source)
    trial.stop()
    trial.start()
    trial.run(90)
    assert told(trial, 0)[2:] == [("final", {"total": 3}), ("4", {}), ("final", {"total": 4})]


def test_a_state_over_1_mb_ends_the_window_early_and_it_goes_on_afresh(
    kinesis_mapping: MappingTrials,
) -> None:
    def handler(event: Event, _context: Any) -> Event:
        return {"state": {"all": event["state"].get("all", "") + "x" * 700_000}}

    trial = kinesis_mapping(handler, tumbling_window_s=900, batch_size=1)
    trial.put_all([("1", "k"), ("2", "k"), ("3", "k")])
    trial.run(5)
    assert [
        (len(each.event["state"].get("all", "")), each.event["isWindowTerminatedEarly"])
        for each in trial.invocations
    ] == [(0, False), (700_000, False), (1_400_000, True), (0, False)]


def test_state_and_partial_responses_together(kinesis_mapping: MappingTrials) -> None:
    """The handled part's state is kept; the rest comes again with it."""

    def handler(event: Event, context: Any) -> Event:
        numbers = [each["kinesis"]["sequenceNumber"] for each in event["Records"]]
        if len(numbers) == 3:
            event["Records"] = event["Records"][:2]
            return summing(event, context) | {"batchItemFailures": [{"itemIdentifier": numbers[2]}]}
        return summing(event, context)

    trial = kinesis_mapping(handler, tumbling_window_s=900, report_batch_item_failures=True)
    trial.put_all([("1", "k"), ("2", "k"), ("3", "k")])
    trial.settle()
    assert [each.event["state"] for each in trial.invocations] == [{}, {"total": 3}]


def test_the_state_of_an_open_window_survives_a_restart(
    kinesis_mapping: MappingTrials, source: str
) -> None:
    trial = kinesis_mapping(summing, source=source, tumbling_window_s=60)
    trial.put("1")
    trial.settle()
    trial.stop()
    trial.put("2")
    trial.start()
    trial.run(120)
    assert [(texts(each.event), each.event["state"]) for each in trial.invocations] == [
        (["1"], {}),
        (["2"], {"total": 1}),
        ([], {"total": 3}),
    ]


def test_a_record_that_is_too_old_to_be_sent_opens_no_window(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(
        summing,
        tumbling_window_s=30,
        maximum_record_age_s=60,
        on_failure="s3",
        start_now=False,
    )
    trial.put("1")
    trial.run(90)
    trial.start()
    trial.run(90)
    assert trial.invocations == []
    assert len(trial.on_failure) == 1


def test_without_a_window_the_event_has_no_window_members(
    kinesis_mapping: MappingTrials,
) -> None:
    trial = kinesis_mapping(succeed)
    trial.put("1")
    trial.settle()
    assert list(trial.invocations[0].event) == ["Records"]
