"""Handlers of batches, whatever kind of function they are. (Those of records: ``attempt``.)"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from shardlane.attempt import finished, is_async, own_cancellation
from shardlane.consumer.daemon_pool import DaemonPool
from shardlane.record import Record

Handler = Callable[[Record], Any]
"""``handler(record)``, plain or async."""
BatchHandler = Callable[[Sequence[Record]], Any]
"""``handler(records)``, plain or async."""
BatchCall = Callable[[Sequence[Record]], Awaitable[Exception | None]]
"""Runs a batch handler and returns what it failed with, or None."""

__all__ = ["BatchCall", "BatchHandler", "Handler", "batch_call", "is_async", "one_at_a_time"]


def one_at_a_time(handler: BatchHandler) -> Handler:
    """A handler of batches as one of records: batches of one."""
    if not is_async(handler):
        return lambda record: handler([record])

    async def handle(record: Record) -> Any:
        return await handler([record])

    return handle


def batch_call(handler: BatchHandler, *, threads: bool) -> BatchCall:
    """An async handler runs on the loop, a plain one in a thread, if there are any."""
    if is_async(handler):
        return lambda records: _attempt_async(handler, records)
    if not threads:
        return lambda records: _attempt_here(handler, records)
    pool = DaemonPool("shardlane-batch", most=1)
    return lambda records: pool.run(_attempt, handler, records)


def _attempt(handler: BatchHandler, records: Sequence[Record]) -> Exception | None:
    try:
        finished(handler(records))
    except Exception as error:  # the failure policy decides about every kind
        return error
    except BaseException as error:
        return own_cancellation(error)
    return None


async def _attempt_here(handler: BatchHandler, records: Sequence[Record]) -> Exception | None:
    return _attempt(handler, records)


async def _attempt_async(handler: BatchHandler, records: Sequence[Record]) -> Exception | None:
    try:
        finished(await handler(records))
    except Exception as error:  # the failure policy decides about every kind
        return error
    except BaseException as error:
        return own_cancellation(error)
    return None
