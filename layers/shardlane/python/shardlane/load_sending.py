"""Sends a load as it is planned: each record at its time, late ones at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from shardlane.clock import Clock
from shardlane.load import LoadPlan, Planned

Put = Callable[[str, bytes], Any]
"""Sends one record with its partition key; raises for one that the service did not take."""


class Sent(NamedTuple):
    """A record that the service took."""

    record: Planned
    sent_ms: float
    put_ms: float
    """How long the call took."""


class Listener(Protocol):
    """Told what happens; with several senders by their threads, one at a time."""

    def sent(self, sent: Sent) -> None: ...

    def resend(self, record: Planned, reason: str) -> None:
        """A put failed past the SDK's retries and is tried once more."""

    def not_sent(self, record: Planned, reason: str) -> None:
        """And failed again."""


class LoadSender:
    def __init__(
        self,
        plan: LoadPlan,
        put: Put,
        listener: Listener,
        clock: Clock,
        failures: tuple[type[Exception], ...],
    ) -> None:
        """``failures``: what ``put`` raises for a record that was not taken; anything else ends
        the sending."""
        self._plan = plan
        self._put = put
        self._listener = listener
        self._clock = clock
        self._failures = failures
        self._lock = threading.Lock()
        self._broken: Exception | None = None

    def send(self, records: Sequence[Planned], start_ms: float) -> None:
        """``start_ms``: the wall clock at the load's start. Raises what ended a sender."""
        lanes: list[list[Planned]] = [[] for _ in range(self._plan.senders)]
        for record in records:
            lanes[self._plan.sender_of(record.key)].append(record)
        others = [
            threading.Thread(target=self._guarded, args=(lane, start_ms), daemon=True)
            for lane in lanes[1:]
            if lane
        ]
        for thread in others:
            thread.start()
        self._guarded(lanes[0], start_ms)
        for thread in others:
            thread.join()
        if self._broken is not None:
            raise self._broken

    def _guarded(self, lane: Sequence[Planned], start_ms: float) -> None:
        try:
            for record in lane:
                if self._broken is not None:
                    return
                self._send_one(record, start_ms + record.at_ms)
        except Exception as error:  # carried to the caller's thread
            self._broken = error

    def _send_one(self, record: Planned, scheduled_ms: float) -> None:
        wait_ms = scheduled_ms - self._clock.wall_ms()
        if wait_ms > 0:
            self._clock.sleep_s(wait_ms / 1000)
        tell = self._listener
        for again in (tell.resend, tell.not_sent):
            sent_ms = self._clock.wall_ms()
            try:
                self._put(record.key, self._plan.payload(record, sent_ms, scheduled_ms))
            except self._failures as error:
                with self._lock:
                    again(record, str(error))
            else:
                with self._lock:
                    tell.sent(Sent(record, sent_ms, self._clock.wall_ms() - sent_ms))
                return
