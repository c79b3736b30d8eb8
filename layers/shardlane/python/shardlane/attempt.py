"""One call of a handler: the only place where any exception of it becomes a value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from shardlane.record import Record

Handler = Callable[..., Any]
"""``handler(record)``, or ``handler(record, lambda_context=…)`` if it has such a parameter; a
plain or an async function."""
Call = Callable[[Record], Any]


def attempt(call: Call, record: Record) -> Exception | None:
    """Runs a plain handler and returns what it failed with, or None."""
    try:
        # Read first: a handler that never looks at its data must not settle garbage.
        _ = record.data
        result = call(record)
        if result is not None and inspect.iscoroutine(result):
            result.close()
            raise TypeError("the handler returned a coroutine: declare it with async def")
    except Exception as error:  # the failure policy decides about every kind
        return error
    return None


async def attempt_async(call: Call, record: Record) -> Exception | None:
    """Runs an async handler and returns what it failed with, or None."""
    try:
        _ = record.data
        await call(record)
    except Exception as error:  # the failure policy decides about every kind
        return error
    return None


def is_async(handler: Handler) -> bool:
    """Whether ``handler`` is an async function, or an object whose ``__call__`` is one."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(type(handler), "__call__", None)  # noqa: B004 - its kind, not whether it exists
    )


def bound_to(handler: Handler, context: Any) -> Call:
    """``handler`` with Lambda's context, if it asks for it as Powertools' handlers do."""
    if context is None or "lambda_context" not in inspect.signature(handler).parameters:
        return handler
    return lambda record: handler(record, lambda_context=context)
