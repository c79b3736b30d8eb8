"""A handler in virtual time: what it gives and takes is what the runtime's sandbox does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.in_process_function import Handler, InProcessFunction
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.virtual_time import run_virtual, wall_ms


def invoke(handler: Handler, event: dict[str, Any] | None = None, **options: Any) -> InvokeResult:
    async def main() -> InvokeResult:
        function = InProcessFunction(handler=handler, wall_ms=wall_ms, **options)
        return await function.invoke(event or {})

    return run_virtual(main())


def test_events_and_answers_go_through_json() -> None:
    sent: dict[str, Any] = {"list": [1]}

    def handler(event: dict[str, Any], _context: Any) -> Any:
        event["list"].append(2)
        return {"tuple": (1, 2), 3: None}

    result = invoke(handler, sent)
    assert sent == {"list": [1]}
    assert result.payload == {"tuple": [1, 2], "3": None}


def test_an_exception_has_the_services_shape() -> None:
    def handler(_event: Any, _context: Any) -> None:
        raise KeyError("order")

    result = invoke(handler)
    assert result.function_error == "Unhandled"
    assert result.error is not None
    assert result.error["errorType"] == "KeyError"
    assert result.error["errorMessage"] == "'order'"
    assert result.error["requestId"] == result.request_id
    assert "raise KeyError" in result.error["stackTrace"][-1]


def test_an_answer_that_json_cannot_hold_is_a_failure() -> None:
    result = invoke(lambda _event, _context: object())
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.MarshalError"


def test_a_handler_that_exits_is_a_failure_and_not_the_end_of_the_test() -> None:
    def handler(_event: Any, _context: Any) -> None:
        raise SystemExit(1)

    result = invoke(handler)
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.ExitError"


def test_an_async_handler_takes_the_time_that_it_sleeps() -> None:
    async def handler(_event: Any, context: Any) -> list[int]:
        before = context.get_remaining_time_in_millis()
        await asyncio.sleep(1.5)
        return [before, context.get_remaining_time_in_millis()]

    result = invoke(handler, timeout_s=4)
    assert result.payload == [4000, 2500]
    assert result.duration_ms == pytest.approx(1500)


@pytest.mark.parametrize("duration_s", [5.0, lambda event: event["s"]], ids=["fixed", "by event"])
def test_a_duration_over_the_time_out_is_a_time_out_with_its_effects_done(
    duration_s: Any,
) -> None:
    effects: list[str] = []
    result = invoke(
        lambda _event, _context: effects.append("done"), {"s": 5}, duration_s=duration_s
    )
    assert effects == ["done"]
    assert result.error == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {result.request_id} Error: Task timed out after 3.00 seconds",
    }
    assert result.duration_ms == 3000


def test_a_time_out_that_the_handler_raises_itself_is_its_own_error() -> None:
    def handler(_event: Any, _context: Any) -> None:
        raise TimeoutError("the database")

    result = invoke(handler)
    assert result.error is not None
    assert result.error["errorType"] == "TimeoutError"
    assert result.error["errorMessage"] == "the database"


def test_the_context_has_the_documented_fields() -> None:
    def handler(_event: Any, context: Any) -> list[Any]:
        return [
            context.function_name,
            context.function_version,
            context.memory_limit_in_mb,
            context.invoked_function_arn,
            context.aws_request_id,
            context.log_group_name,
        ]

    result = invoke(handler, name="orders", memory_mb=256)
    assert result.payload == [
        "orders",
        "$LATEST",
        "256",
        "arn:aws:lambda:us-east-1:000000000000:function:orders",
        result.request_id,
        "/aws/lambda/orders",
    ]


def test_invocations_over_the_concurrency_are_throttled() -> None:
    async def main() -> list[Any]:
        function = InProcessFunction(
            handler=lambda _event, _context: "ok", wall_ms=wall_ms, concurrency=1, duration_s=1
        )
        calls = (function.invoke({}), function.invoke({}))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, second = run_virtual(main())
    assert first.payload == "ok"
    assert isinstance(second, InvocationRefused)
    assert second.code == "TooManyRequestsException"
