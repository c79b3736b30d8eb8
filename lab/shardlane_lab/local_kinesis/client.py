"""The in-process shell: the model with a clock, on a real event loop or in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from shardlane_lab.local_kinesis.caller import Caller
from shardlane_lab.local_kinesis.model import Kinesis
from shardlane_lab.local_kinesis.subscription import Subscription
from shardlane_lab.local_kinesis.waiting import Alarm


class InProcessKinesis:
    """Calls the model after (and before) the configured delays."""

    def __init__(
        self, model: Kinesis, wall_ms: Callable[[], float], caller: Caller = Caller.API
    ) -> None:
        self._model = model
        self._wall_ms = wall_ms
        self._caller = caller

    async def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ``ServiceError``, also after the delays."""
        timing = self._model.timing(operation)
        if timing.before_ms:
            await asyncio.sleep(timing.before_ms / 1000)
        try:
            return self._model.call(
                operation, request, self._wall_ms(), self._caller, timing.total_ms
            )
        finally:
            if timing.after_ms:
                await asyncio.sleep(timing.after_ms / 1000)

    def subscribe(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Opens the subscription at once (raises ``ServiceError``) and returns its events.

        The iteration ends when the subscription does, and raises ``ServiceError`` if that was an
        exception event. Close the iterator (``aclose``) to unsubscribe earlier.
        """
        subscription = self._model.subscribe(request, self._wall_ms(), self._caller)
        return self._events(subscription)

    async def _events(self, subscription: Subscription) -> AsyncIterator[dict[str, Any]]:
        alarm = Alarm()
        subscription.on_change = alarm.ring
        try:
            while not subscription.ended:
                now_ms = self._wall_ms()
                event = subscription.next_event(now_ms)
                if event is not None:
                    yield event.as_dict()
                elif not subscription.ended:
                    await alarm.wait_ms(subscription.next_due_ms(now_ms) - now_ms)
            if subscription.error is not None:
                raise subscription.error
        finally:
            subscription.close()
