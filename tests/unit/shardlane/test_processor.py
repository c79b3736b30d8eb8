"""KeyedBatchProcessor with a plain handler and one worker, through Powertools' own function."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import process_partial_response

from shardlane import (
    Backoff,
    BadEvent,
    Drop,
    FailurePolicy,
    KeyedBatchProcessor,
    Park,
    Record,
    SettingsError,
    ShardlaneError,
)
from tests.unit.shardlane.entries import Context, entry, event_of, reported, sequence
from tests.unit.shardlane.packed import packed
from tests.unit.shardlane.stepped_clock import SteppedClock


class Script:
    """A handler that fails on chosen places, as often as they are listed."""

    def __init__(self, *failing: int, error: Exception | None = None) -> None:
        self.failing = list(failing)
        self.error = error if error is not None else RuntimeError("boom")
        self.calls: list[int] = []

    def __call__(self, record: Record) -> None:
        place = record.json()["n"]
        self.calls.append(place)
        if place in self.failing:
            self.failing.remove(place)
            raise self.error


def run(
    processor: KeyedBatchProcessor,
    event: dict[str, Any],
    handler: Callable[..., Any],
    context: Any = None,
) -> int | None:
    return reported(
        process_partial_response(
            event=event, record_handler=handler, processor=processor, context=context
        )
    )


def test_a_batch_that_goes_well_reports_nothing() -> None:
    handler, processor = Script(), KeyedBatchProcessor()
    assert run(processor, event_of("abab"), handler) is None
    assert handler.calls == [0, 1, 2, 3]
    assert processor.outcome.handled == 4
    assert processor.response() == {"batchItemFailures": []}


def test_nothing_starts_beyond_a_failure_and_it_is_reported() -> None:
    # With Powertools' processor 2 (of the same key) and 3 would run before 1 is retried.
    handler, processor = Script(1), KeyedBatchProcessor()
    assert run(processor, event_of("aaab"), handler) == 1
    assert handler.calls == [0, 1]
    assert processor.outcome.unsettled == 3


def test_a_batch_that_fails_as_a_whole_is_a_normal_response() -> None:
    processor = KeyedBatchProcessor()
    assert run(processor, event_of("a"), Script(0)) == 0


def test_an_invocation_knows_nothing_of_the_one_before() -> None:
    processor = KeyedBatchProcessor()
    assert run(processor, event_of("ab"), Script(0)) == 0
    handler = Script()
    assert run(processor, event_of("ab"), handler) is None
    assert handler.calls == [0, 1]


def test_attempts_are_made_in_place_with_backoff() -> None:
    clock = SteppedClock()
    processor = KeyedBatchProcessor(
        on_failure=FailurePolicy.stop(attempts=3, backoff=Backoff(first_ms=100)),
        clock=clock,
        draw=lambda: 0.5,
    )
    handler = Script(0, 0)
    assert run(processor, event_of("ab"), handler) is None
    assert handler.calls == [0, 0, 0, 1]
    assert clock.slept_s == [pytest.approx(0.05), pytest.approx(0.1)]
    assert processor.outcome.retries == 2


def test_attempts_run_out() -> None:
    processor = KeyedBatchProcessor(on_failure=FailurePolicy.stop(attempts=2), clock=SteppedClock())
    handler = Script(1, 1, 1)
    assert run(processor, event_of("aba"), handler) == 1
    assert handler.calls == [0, 1, 1]
    (failure,) = processor.outcome.first_failures
    assert (failure.attempts, failure.reason) == (2, "RuntimeError: boom")


def test_dropped_records_are_settled_and_counted() -> None:
    processor = KeyedBatchProcessor(on_failure=FailurePolicy.drop())
    handler = Script(0, 2)
    assert run(processor, event_of("aba"), handler) is None
    assert handler.calls == [0, 1, 2]
    assert (processor.outcome.dropped, processor.outcome.handled) == (2, 1)


def test_a_handler_may_drop_its_record() -> None:
    processor = KeyedBatchProcessor()
    assert run(processor, event_of("aba"), Script(1, error=Drop("obsolete"))) is None
    assert processor.outcome.dropped == 1


def test_park_without_a_lot_is_a_failure() -> None:
    assert run(KeyedBatchProcessor(), event_of("aba"), Script(1, error=Park("later"))) == 1


def test_policies_by_exception_class() -> None:
    policies = {Exception: FailurePolicy.stop(), KeyError: FailurePolicy.drop()}
    assert run(KeyedBatchProcessor(on_failure=policies), event_of("ab"), Script(0)) == 0
    assert (
        run(KeyedBatchProcessor(on_failure=policies), event_of("ab"), Script(0, error=KeyError()))
        is None
    )


def test_nothing_starts_once_the_margin_is_reached() -> None:
    clock = SteppedClock()
    processor = KeyedBatchProcessor(margin_ms=1_000, clock=clock)
    calls = []

    def slow(record: Record) -> None:
        calls.append(record.json()["n"])
        clock.now_s += 2

    assert run(processor, event_of("abcd"), slow, Context(left_ms=6_000)) == 3
    assert calls == [0, 1, 2]


@pytest.mark.parametrize("left_ms", [0, -5, 10])
def test_every_invocation_starts_at_least_one_record(left_ms: float) -> None:
    clock = SteppedClock()
    calls = []

    def slow(record: Record) -> None:
        calls.append(record.json()["n"])
        clock.now_s += 1

    processor = KeyedBatchProcessor(clock=clock)
    assert run(processor, event_of("abc"), slow, Context(left_ms)) == 1
    assert calls == [0]


def test_an_attempt_that_would_come_too_late_is_left_to_the_next_invocation() -> None:
    clock = SteppedClock()
    policy = FailurePolicy.stop(attempts=5, backoff=Backoff(first_ms=5_000, most_ms=5_000))
    processor = KeyedBatchProcessor(on_failure=policy, clock=clock, draw=lambda: 0.9)
    handler = Script(1, 1)
    assert run(processor, event_of("abc"), handler, Context(left_ms=3_000)) == 1
    assert handler.calls == [0, 1]
    assert clock.slept_s == []


def test_the_reported_number_is_the_lowest_as_an_integer() -> None:
    # The service sends batches in order; a hand-made event need not be.
    records = [
        entry(0, "a", b'{"n": 0}', sequenceNumber="10"),
        entry(1, "b", b'{"n": 1}', sequenceNumber="9"),
    ]
    response = process_partial_response(
        event={"Records": records}, record_handler=Script(0), processor=KeyedBatchProcessor()
    )
    assert response == {"batchItemFailures": [{"itemIdentifier": "9"}]}


def test_an_aggregate_is_handled_record_by_record_and_reported_by_its_outer_number() -> None:
    inner = [("x", b'{"n": 10}'), ("y", b'{"n": 11}'), ("x", b'{"n": 12}')]
    event = {"Records": [entry(0, "a", b'{"n": 0}'), entry(1, "outer", packed(inner))]}
    handler, processor = Script(11), KeyedBatchProcessor()
    assert run(processor, event, handler) == 1
    assert handler.calls == [0, 10, 11]
    assert processor.outcome.received == 4


def test_an_empty_aggregate_is_settled() -> None:
    assert run(KeyedBatchProcessor(), {"Records": [entry(0, "a", packed([]))]}, Script()) is None


@pytest.mark.parametrize("data", ["@@@@", None, 5])
def test_data_that_is_not_base64_fails_alone_even_if_nobody_looks_at_it(data: object) -> None:
    broken = entry(1, "b")
    broken["kinesis"]["data"] = data
    event = {"Records": [entry(0, "a"), broken, entry(2, "c")]}
    processor = KeyedBatchProcessor()
    assert run(processor, event, lambda record: None) == 1
    assert "kinesis.data" in processor.outcome.first_failures[0].reason


def test_the_handler_gets_lambdas_context_if_it_asks_for_it() -> None:
    context, seen = Context(), []

    def handler(record: Record, lambda_context: Context) -> None:
        seen.append(lambda_context)

    assert run(KeyedBatchProcessor(), event_of("a"), handler, context) is None
    assert seen == [context]


def test_a_handler_written_for_powertools_keeps_working() -> None:
    seen = []

    def handler(record: Any) -> None:
        seen.append(record.kinesis.data_as_json()["n"])

    assert run(KeyedBatchProcessor(), event_of("ab"), handler) is None
    assert seen == [0, 1]


def test_a_coroutine_that_nobody_awaits_is_a_failure() -> None:
    async def handle(record: Record) -> None: ...

    def forgetful(record: Record) -> object:
        return handle(record)

    processor = KeyedBatchProcessor()
    assert run(processor, event_of("a"), forgetful) == 0
    assert "async def" in processor.outcome.first_failures[0].reason


def test_what_is_no_exception_ends_the_invocation() -> None:
    def leave(record: Record) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(KeyedBatchProcessor(), event_of("a"), leave)


def test_a_tumbling_window_is_refused_before_anything_runs() -> None:
    handler = Script()
    event = event_of("a") | {"window": {"start": "…", "end": "…"}, "state": {}}
    with pytest.raises(BadEvent, match="tumbling window"):
        run(KeyedBatchProcessor(), event, handler)
    assert handler.calls == []


def test_an_event_of_another_service_is_refused() -> None:
    event = {"Records": [{"eventSource": "aws:sqs", "messageId": "1", "body": "{}"}]}
    with pytest.raises(BadEvent, match="aws:sqs"):
        run(KeyedBatchProcessor(), event, Script())


@pytest.mark.parametrize(
    "wrong", [{"workers": 0}, {"workers": 257}, {"workers": "2"}, {"margin_ms": -1}]
)
def test_settings_are_checked_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="allowed is"):
        KeyedBatchProcessor(**wrong)


def test_an_outcome_before_a_batch_is_an_error() -> None:
    with pytest.raises(ShardlaneError, match="no batch"):
        KeyedBatchProcessor().response()
    with pytest.raises(ShardlaneError, match="call process"):
        KeyedBatchProcessor()([], Script()).response()


def test_failures_are_logged_once_with_the_first_few_and_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    processor = KeyedBatchProcessor(on_failure=FailurePolicy.drop())
    with caplog.at_level(logging.INFO):
        run(processor, event_of("aaaaabbbbb"), Script(*range(10)))
    (line,) = caplog.records
    assert line.levelname == "WARNING"
    assert line.message.startswith("10 of 10 records failed; the first: ")
    details: Any = line.__dict__["shardlane"]
    assert len(details["failures"]) == 5
    assert details["failures"][0] == {
        "sequence_number": sequence(0),
        "sub_sequence_number": 0,
        "action": "drop",
        "reason": "RuntimeError: boom",
        "attempts": 1,
    }


def test_keys_are_logged_only_if_switched_on(caplog: pytest.LogCaptureFixture) -> None:
    run(KeyedBatchProcessor(log_keys=True), event_of("a"), Script(0))
    assert caplog.records[0].__dict__["shardlane"]["failures"][0]["key"] == "a"


def test_a_batch_that_goes_well_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        run(KeyedBatchProcessor(), event_of("ab"), Script())
    assert caplog.records == []


def test_a_batch_that_ran_out_of_time_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        run(KeyedBatchProcessor(), event_of("ab"), Script(), Context(left_ms=0))
    assert caplog.records[0].message == (
        "1 of 2 records are left for the next invocation: the time ran out"
    )


def test_a_record_is_processed_as_part_of_its_batch_only() -> None:
    with pytest.raises(TypeError, match="batch as a whole"):
        KeyedBatchProcessor()._process_record({})


class Promise:
    def __await__(self) -> Any:
        yield


def yielding(record: Record) -> Any:
    raise AssertionError("nothing iterates it, so this never runs")
    yield


async def yielding_async(record: Record) -> Any:
    raise AssertionError("nothing iterates it, so this never runs")
    yield


@pytest.mark.parametrize(
    "handler",
    [yielding, yielding_async, lambda record: Promise()],
    ids=["a generator", "an async generator", "something to be awaited"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_handler_that_has_not_run_yet_settles_nothing(
    handler: Callable[..., Any], workers: int
) -> None:
    processor = KeyedBatchProcessor(workers=workers)
    assert run(processor, event_of("ab"), handler) == 0
    assert processor.outcome.first_failures[0].reason.startswith("TypeError: the handler")


@pytest.mark.parametrize("value", [0, True, "done", {"a": 1}, [1], (1,), object(), iter([1])])
def test_what_a_handler_returns_is_not_looked_at(value: object) -> None:
    assert run(KeyedBatchProcessor(), event_of("ab"), lambda record: value) is None


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plain_handler_whose_own_loop_was_cancelled_has_failed(workers: int) -> None:
    def handler(record: Record) -> None:
        raise asyncio.CancelledError

    processor = KeyedBatchProcessor(workers=workers, on_failure=FailurePolicy.drop())
    assert run(processor, event_of("ab"), handler) is None
    assert processor.outcome.dropped == 2


def test_an_error_that_cannot_say_what_it_is_fails_its_record_alone() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError("no message")

    processor = KeyedBatchProcessor(on_failure=FailurePolicy.drop())
    assert run(processor, event_of("ab"), Script(0, error=Mute())) is None
    assert (processor.outcome.handled, processor.outcome.dropped) == (1, 1)
    assert processor.outcome.first_failures[0].reason.startswith("Mute: KeyError")


def test_a_context_that_does_not_tell_its_time_sets_no_deadline() -> None:
    """As the contexts that handlers are tested with."""
    handler = Script()
    assert run(KeyedBatchProcessor(), event_of("aaa"), handler, context=object()) is None
    assert handler.calls == [0, 1, 2]
