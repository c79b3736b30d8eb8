"""A subscription on the wire: one frame for an event, until one of the two sides ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from shardlane_lab.local_kinesis.subscription import SubscribeToShardEvent, Subscription
from shardlane_lab.local_kinesis.waiting import Alarm
from shardlane_lab.local_kinesis.wire import event_stream
from shardlane_lab.local_kinesis.wire.body import Codec
from shardlane_lab.local_kinesis.wire.reply import Reply


class Push:
    def __init__(
        self,
        subscription: Subscription,
        codec: Codec,
        reply: Reply,
        wall_ms: Callable[[], float],
        frame_gap_ms: float,
    ) -> None:
        self._subscription = subscription
        self._codec = codec
        self._reply = reply
        self._wall_ms = wall_ms
        self._frame_gap_ms = frame_gap_ms
        self._next_frame_ms = 0.0
        self._alarm = Alarm()
        subscription.on_change = self._alarm.ring
        reply.on_closed = self._left

    def start(self, headers: Mapping[str, str]) -> None:
        """Sends the head and the first frame."""
        self._reply.start(200, {**headers, "content-type": event_stream.CONTENT_TYPE})
        fault = self._subscription.first_fault
        if fault is not None:
            self._subscription.fail(_exception(fault))
        else:
            self._write(self._frame(event_stream.INITIAL_RESPONSE, self._codec.empty))

    async def run(self) -> None:
        """Returns when the subscription has ended and the answer with it."""
        subscription = self._subscription
        try:
            while not subscription.ended:
                await self._until_due()
                await self._pace()
                event = subscription.next_event(self._wall_ms())
                if event is None:
                    continue  # it was the end that was due, or a change of the stream
                if event.fault is None:
                    self._write(self._event(event))
                else:
                    await self._break(event, event.fault)
            await self._end()
        finally:
            subscription.close()

    def _left(self) -> None:
        self._subscription.close()
        self._alarm.ring()

    async def _until_due(self) -> None:
        """One wait: what was due may have changed when it returns."""
        now_ms = self._wall_ms()
        wait_ms = self._subscription.next_due_ms(now_ms) - now_ms
        if wait_ms > 0 and not self._subscription.ended:
            await self._alarm.wait_ms(wait_ms)

    async def _pace(self) -> None:
        """Waits for the client to read, and until the last frame is far enough away."""
        await self._reply.writable()
        wait_ms = self._next_frame_ms - self._wall_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)

    async def _end(self) -> None:
        await self._pace()
        error = self._subscription.error
        if error is not None:
            self._write(self._exception(error))
        self._reply.finish()

    # --- frames -----------------------------------------------------------------------------

    def _write(self, frame: bytes) -> None:
        self._reply.push(frame)
        self._next_frame_ms = self._wall_ms() + self._frame_gap_ms

    def _frame(self, kind: str, payload: bytes) -> bytes:
        return event_stream.event(kind, payload, self._codec.content_type)

    def _event(self, event: SubscribeToShardEvent) -> bytes:
        return self._frame("SubscribeToShardEvent", self._codec.event(event))

    def _exception(self, error: ServiceError) -> bytes:
        payload = self._codec.error(error)
        return event_stream.exception(error.code, payload, self._codec.content_type)

    # --- faults -----------------------------------------------------------------------------

    async def _break(self, event: SubscribeToShardEvent, fault: Fault) -> None:
        """Sends the event as the fault leaves it, and ends the subscription for the model."""
        frame = self._event(event)
        if fault.kind is FaultKind.SILENCE:
            while not self._reply.closed:  # even the end after five minutes stays away
                await self._alarm.wait_ms(float("inf"))
        elif fault.kind is FaultKind.EXCEPTION_FRAME:
            self._subscription.fail(_exception(fault))
        elif fault.kind is FaultKind.CORRUPT_CRC:
            self._write(frame[:-1] + bytes([frame[-1] ^ 0xFF]))
        elif fault.kind is FaultKind.TRUNCATED_FRAME:
            self._write(frame[: len(frame) // 2])
            self._subscription.close()
        else:
            whole = fault.kind is FaultKind.CUT_BETWEEN_FRAMES
            self._write(frame if whole else frame[: len(frame) // 2])
            self._subscription.close()
            self._reply.cut(fault.reset)


def _exception(fault: Fault) -> ServiceError:
    return ServiceError(fault.code, "By request of the fault plan.")
