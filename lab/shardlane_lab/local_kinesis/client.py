"""The in-process shell: the model with a clock, on a real event loop or in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from shardlane_lab.local_kinesis.model import SUBSCRIBE, Kinesis
from shardlane_lab.local_kinesis.subscription import Subscription
from shardlane_lab.local_kinesis.waiting import Alarm

_CUT = "the connection was cut, by request of the fault plan"


class InProcessKinesis:
    """Calls the model after (and before) the configured delays.

    Where a fault breaks the connection, ``ConnectionResetError`` is raised; where it corrupts a
    frame, ``ConnectionError``.
    """

    def __init__(
        self, model: Kinesis, wall_ms: Callable[[], float], caller: Caller = Caller.API
    ) -> None:
        self._model = model
        self._wall_ms = wall_ms
        self._caller = caller

    async def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ``ServiceError``, also after the delays."""
        timing = self._model.timing(operation, request)
        if timing.before_ms:
            await asyncio.sleep(timing.before_ms / 1000)
        try:
            answer = self._model.call(
                operation, request, self._wall_ms(), self._caller, timing.total_ms
            )
        finally:
            if timing.after_ms:
                await asyncio.sleep(timing.after_ms / 1000)
        if self._model.loses_answer(operation, request):
            raise ConnectionResetError(_CUT)
        return answer

    def subscribe(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Opens the subscription at once (raises ``ServiceError``) and returns its events.

        The iteration ends when the subscription does, and raises ``ServiceError`` if that was an
        exception event. Close the iterator (``aclose``) to unsubscribe earlier.
        """
        timing = self._model.timing(SUBSCRIBE, request)
        subscription = self._model.subscribe(request, self._wall_ms(), self._caller)
        return self._events(subscription, timing.total_ms)

    async def _events(
        self, subscription: Subscription, late_ms: float
    ) -> AsyncIterator[dict[str, Any]]:
        alarm = Alarm()
        subscription.on_change = alarm.ring
        try:
            await asyncio.sleep(late_ms / 1000)
            if subscription.first_fault is not None:
                raise subscription.first_fault.exception()
            while not subscription.ended:
                now_ms = self._wall_ms()
                event = subscription.next_event(now_ms)
                if event is None:
                    if not subscription.ended:
                        await alarm.wait_ms(subscription.next_due_ms(now_ms) - now_ms)
                    continue
                kind = None if event.fault is None else event.fault.kind
                if kind is None or kind is FaultKind.CUT_BETWEEN_FRAMES:
                    yield event.as_dict()
                if event.fault is not None:
                    await _suffer(event.fault, subscription, alarm)
                    return
            if subscription.error is not None:
                raise subscription.error
        finally:
            subscription.close()


async def _suffer(fault: Fault, subscription: Subscription, alarm: Alarm) -> None:
    """Raises what the client of a broken subscription sees; returns for a clean end."""
    if fault.kind is FaultKind.TRUNCATED_FRAME:
        return
    if fault.kind is FaultKind.SILENCE:
        while not subscription.ended:  # nothing tells the client, not even the end
            await alarm.wait_ms(float("inf"))
        await asyncio.Event().wait()
    if fault.kind is FaultKind.EXCEPTION_FRAME:
        raise fault.exception()
    if fault.kind is FaultKind.CORRUPT_CRC:
        raise ConnectionError("a frame's checksum is wrong, by request of the fault plan")
    raise ConnectionResetError(_CUT)
