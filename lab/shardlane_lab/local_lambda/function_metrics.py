"""What the service counts of invocations (source: "Types of metrics for Lambda functions")."""

from __future__ import annotations

from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.metric import Datum, Observer, dimensions

NAMESPACE = "AWS/Lambda"


def report_invocation(
    observer: Observer | None, function_name: str, result: InvokeResult, at_ms: float
) -> None:
    """Invocations, Errors and Duration; ``at_ms`` is when it began, as the service dates them."""
    if observer is None:
        return
    where = dimensions(FunctionName=function_name)
    failed = 1.0 if result.failed else 0.0
    observer(Datum(NAMESPACE, "Invocations", where, 1.0, at_ms))
    observer(Datum(NAMESPACE, "Errors", where, failed, at_ms))
    observer(Datum(NAMESPACE, "Duration", where, result.duration_ms, at_ms, "Milliseconds"))
    observer(Datum(NAMESPACE, "Throttles", where, 0.0, at_ms))


def report_throttle(observer: Observer | None, function_name: str, at_ms: float) -> None:
    """A throttled request is no invocation."""
    if observer is not None:
        where = dimensions(FunctionName=function_name)
        observer(Datum(NAMESPACE, "Throttles", where, 1.0, at_ms))
