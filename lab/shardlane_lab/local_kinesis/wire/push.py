"""A subscription on the wire: one frame for an event, until one of the two sides ends it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from shardlane_lab.local_kinesis.errors import ServiceError
from shardlane_lab.local_kinesis.faults import Fault, FaultKind
from shardlane_lab.local_kinesis.subscription import SubscribeToShardEvent, Subscription
from shardlane_lab.local_kinesis.wire import event_stream
from shardlane_lab.local_kinesis.wire.body import Codec
from shardlane_lab.local_kinesis.wire.push_schedule import PushSchedule
from shardlane_lab.local_kinesis.wire.reply import Reply

_NEVER_S = float("inf")
_SHORTEST_S = 0.001
"""When the time of what was due has come and nothing is due after all: a rounding error must not
keep the loop busy."""

_log = logging.getLogger(__name__)


class Push:
    """Taken a step further by ``schedule`` whenever something is due or has changed."""

    def __init__(
        self,
        subscription: Subscription,
        codec: Codec,
        reply: Reply,
        schedule: PushSchedule,
        frame_gap_ms: float,
    ) -> None:
        self.ready = False
        self.timer_s = _NEVER_S
        self._subscription = subscription
        self._codec = codec
        self._reply = reply
        self._schedule = schedule
        self._frame_gap_s = frame_gap_ms / 1000
        self._next_frame_s = float("-inf")
        """On the loop's clock."""
        self._silent = False
        subscription.on_change = self._wake
        reply.on_room = self._wake
        reply.on_closed = subscription.close

    def start(self, headers: Mapping[str, str]) -> None:
        """Sends the head and the first frame."""
        self._reply.start(200, {**headers, "content-type": event_stream.CONTENT_TYPE})
        fault = self._subscription.first_fault
        if fault is not None:
            self._subscription.fail(fault.exception())
        else:
            payload = self._codec.empty
            kind = event_stream.INITIAL_RESPONSE
            self._write(event_stream.event(kind, payload, self._codec.content_type))
            self._wake()

    def step(self, now_ms: float) -> float:
        """Sends what may be sent at ``now_ms``; returns the seconds until there is more to do."""
        if self._reply.closed or self._reply.full or self._silent:
            return _NEVER_S
        gap_s = self._next_frame_s - self._schedule.loop_s()
        if gap_s > 0:
            return gap_s
        event = self._subscription.next_event(now_ms)
        if event is not None:
            self._send(event)
        elif self._subscription.ended:
            self._end()
            return _NEVER_S
        due_s = (self._subscription.next_due_ms(now_ms) - now_ms) / 1000
        if event is None:
            return max(due_s, _SHORTEST_S)
        # Also when that was the last event: its end is the next step.
        return self._frame_gap_s if self._subscription.ended else max(due_s, self._frame_gap_s)

    def fail(self) -> None:
        """After a bug of ours, whose traceback is logged: the client sees a broken connection."""
        _log.exception("a subscription failed")
        self._subscription.close()
        self._reply.cut(reset=True)

    def _wake(self) -> None:
        self._schedule.wake(self)

    def _end(self) -> None:
        error = self._subscription.error
        if error is not None:
            self._write(self._exception(error))
        self._reply.finish()

    # --- frames -----------------------------------------------------------------------------

    def _send(self, event: SubscribeToShardEvent) -> None:
        frame = self._schedule.frames.of(event, self._codec)
        if event.fault is None:
            self._write(frame)
        else:
            self._break(frame, event.fault)

    def _write(self, frame: bytes) -> None:
        self._reply.push(frame)
        self._next_frame_s = self._schedule.loop_s() + self._frame_gap_s

    def _exception(self, error: ServiceError) -> bytes:
        payload = self._codec.error(error)
        return event_stream.exception(error.code, payload, self._codec.content_type)

    # --- faults -----------------------------------------------------------------------------

    def _break(self, frame: bytes, fault: Fault) -> None:
        """Sends the event as the fault leaves it, and ends the subscription for the model."""
        if fault.kind is FaultKind.SILENCE:
            self._silent = True  # even the end after five minutes stays away
        elif fault.kind is FaultKind.EXCEPTION_FRAME:
            self._subscription.fail(fault.exception())
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
