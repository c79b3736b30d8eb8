"""One call of a handler: the only place where any exception of it becomes a value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shardlane.record import Record

if TYPE_CHECKING:
    import asyncio

Handler = Callable[..., Any]
"""``handler(record)``, or ``handler(record, lambda_context=…)`` if it has such a parameter; a
plain or an async function."""
Call = Callable[[Record], Any]

_VALUES = frozenset((bool, bytes, dict, float, int, list, str, tuple))
"""What handlers return that return something: no need to look any closer."""


def attempt(call: Call, record: Record) -> Exception | None:
    """Runs a plain handler and returns what it failed with, or None."""
    try:
        # Read first: a handler that never looks at its data must not settle garbage.
        _ = record.data
        result = call(record)
        if result is not None:
            finished(result)
    except Exception as error:  # the failure policy decides about every kind
        return error
    except BaseException as error:
        return own_cancellation(error)
    return None


async def attempt_async(call: Call, record: Record) -> Exception | None:
    """Runs an async handler and returns what it failed with, or None."""
    try:
        _ = record.data
        finished(await call(record))
    except Exception as error:  # the failure policy decides about every kind
        return error
    except BaseException as error:
        return own_cancellation(error)
    return None


def finished(result: Any) -> None:
    """Raises ``TypeError`` if what a handler returned is work that nobody has done yet: a record
    must not count as handled because of it."""
    if result is None or type(result) in _VALUES:
        return
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the handler returned a coroutine: declare it with async def")
    if inspect.isawaitable(result):
        raise TypeError("the handler returned something to be awaited: await it in an async def")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the handler is a generator, and nothing in it ran: leave out its yield")


def own_cancellation(error: BaseException) -> Exception:
    """What a handler failed with that raised ``CancelledError`` though nobody cancelled it: it
    awaited a task of its own that was. Raises every other ``error`` again."""
    import asyncio  # not at the top: a plain handler does without it

    if not isinstance(error, asyncio.CancelledError):
        raise error
    task = _current_task()
    if task is not None and task.cancelling():
        raise error
    return RuntimeError("the handler was cancelled, but not from outside")


def _current_task() -> asyncio.Task[Any] | None:
    import asyncio

    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
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
